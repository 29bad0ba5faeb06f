package cmd

import (
	"testing"

	"github.com/esched/esched/deploy/local"
	"github.com/esched/esched/runners/record"
)

func TestParseFacts(t *testing.T) {
	t.Parallel()
	have := parseFacts("n1", "cpu AMD EPYC 7402P\ncores 24\nmemory 131072\nkernel Linux 6.1.0\nos Rocky Linux 8.10\ngovernor performance\n\nodd\n")
	want := record.Host{Name: "n1", CPU: "AMD EPYC 7402P", Cores: 24, MemoryB: 128 << 20, Kernel: "Linux 6.1.0", OS: "Rocky Linux 8.10", Governor: "performance"}
	if have != want {
		t.Errorf("want %+v\nhave %+v", want, have)
	}
}

func TestDescribeHost(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	h, err := local.New(local.Config{Guard: []string{s.p.Executable, "guard"}, Env: s.p.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	have, err := describeHost(t.Context(), h)
	if err != nil || have.Cores < 1 || have.MemoryB < 1<<26 || have.Kernel == "" {
		t.Errorf("have %+v, %v", have, err)
	}
}
