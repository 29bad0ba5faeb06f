package deploy_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/internal/need"
)

// TestPortsTaken starts two deployments at the same time while others hold the
// ports that Dask uses by default. Both compute, and leave nothing.
func TestPortsTaken(t *testing.T) {
	t.Parallel()
	python := need.Python(t)
	for _, address := range []string{"127.0.0.1:8786", "127.0.0.1:8787"} {
		l, err := net.Listen("tcp", address)
		switch {
		case err == nil:
			defer l.Close()
		case !errors.Is(err, syscall.EADDRINUSE): // else somebody else holds it
			t.Fatal(err)
		}
	}
	var dirs [2]string
	var made [2]*deploy.Deployment
	var errs [2]error
	var wait sync.WaitGroup
	for i := range dirs {
		dirs[i] = short(t)
		spec := plain(dirs[i], python)
		spec.WorkersPerNode = 1
		all := hosts(t, dirs[i], "a")
		wait.Go(func() { made[i], errs[i] = deploy.Start(t.Context(), all, spec) })
	}
	wait.Wait()
	for i, d := range made {
		if errs[i] != nil {
			t.Errorf("deployment %d: %v", i, errs[i])
			continue
		}
		pids := []int{d.Scheduler().PID()}
		for _, w := range d.Workers() {
			pids = append(pids, w.PID())
		}
		deploytest.Compute(t, d, python, t.TempDir(), "[1, 2]", ready)
		if err := d.Stop(t.Context()); err != nil {
			t.Errorf("deployment %d: stop: %v", i, err)
		}
		for _, pid := range pids {
			if deploytest.Alive(pid) {
				t.Errorf("deployment %d: process %d is still there", i, pid)
			}
		}
		records, _ := os.ReadDir(filepath.Join(dirs[i], deploy.ProcessesDir))
		left, _ := filepath.Glob(filepath.Join(dirs[i], "d*"))
		if len(records)+len(left) > 0 {
			t.Errorf("deployment %d: left %v, %v", i, records, left)
		}
	}
}
