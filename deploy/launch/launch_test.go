package launch_test

import (
	"testing"

	"github.com/esched/esched/deploy"
	"github.com/esched/esched/deploy/deploytest"
	"github.com/esched/esched/deploy/launch"
	"github.com/esched/esched/internal/hint"
)

func TestMain(m *testing.M) {
	deploytest.Main(m)
}

// TestHost uses a launcher that needs no cluster, to see that a Host keeps the
// contract; TestJob has a real one.
func TestHost(t *testing.T) {
	t.Parallel()
	deploytest.Run(t, func(t *testing.T, records string) deploy.Host {
		return host(t, launch.Config{
			Node: "node001", Argv: []string{"env", "NODE={node}", "{guard}"}, Guard: deploytest.Guard(), Records: records,
		})
	})
}

func host(t *testing.T, c launch.Config) *launch.Host {
	t.Helper()
	h, err := launch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestNew(t *testing.T) {
	t.Parallel()
	_, err := launch.New(launch.Config{Node: "node001", Argv: []string{"srun", "esched"}, Guard: []string{"esched", "guard"}})
	if hint.Exit(err) != hint.ExitUsage || hint.Of(err) == "" {
		t.Errorf("launcher without {guard}: want a usage error with a hint, have %v", err)
	}
	for _, c := range []launch.Config{{}, {Node: "node001"}, {Node: "node001", Argv: launch.SLURM("1")}} {
		if _, err := launch.New(c); err == nil {
			t.Errorf("%+v: want an error", c)
		}
	}
	h := host(t, launch.Config{Node: "node001", Argv: []string{"no-such-launcher", "{guard}"}, Guard: deploytest.Guard()})
	_, err = h.Run(t.Context(), deploy.Command{Name: "x", Argv: []string{"true"}})
	if hint.Of(err) == "" {
		t.Errorf("missing launcher: want a hint, have %v", err)
	}
	if h.Addr() != "node001" {
		t.Errorf("address: want the node's name, have %q", h.Addr())
	}
}
