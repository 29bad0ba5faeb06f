package deploy_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
)

// TestBeside starts deployments of which one part fails: either the processes,
// which have no interpreter worth the name, or what is beside them.
func TestBeside(t *testing.T) {
	t.Parallel()
	failure := errors.New("no client")
	for _, c := range []struct {
		name   string
		python string // an interpreter's script
		beside error
		want   string
	}{
		{"processes", "exit 7", nil, "exit status 7"},
		{"beside", "sleep 600", failure, failure.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := short(t)
			python := filepath.Join(dir, "python")
			deploytest.Script(t, python, c.python)
			spec := plain(dir, python)
			spec.Ready = time.Hour
			began, ended := false, false
			spec.Beside = func(ctx context.Context, d *deploy.Deployment) error {
				began = filepath.IsAbs(d.AddressFile())
				if c.beside == nil {
					<-ctx.Done()
				}
				ended = true
				return c.beside
			}
			_, err := deploy.Start(t.Context(), hosts(t, dir, "a"), spec)
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, failure) != (c.beside != nil) {
				t.Errorf("want %q, have %v", c.want, err)
			}
			if !began || !ended {
				t.Errorf("beside: began %t, ended %t", began, ended)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "d*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
