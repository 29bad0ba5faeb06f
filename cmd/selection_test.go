package cmd

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/esched/esched/runners/record"
)

// TestTraceIsKeptWithTheRun resumes runs of which a session kept times of tasks.
func TestTraceIsKeptWithTheRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		command []string // of the first session
		kept    int      // in the manifest
		args    []string // of this session
		want    int
	}{
		{"never", []string{"esched", "run"}, 0, nil, 0},
		{"from the first session", []string{"esched", "run", "--trace", "200"}, 200, nil, 200},
		{"of a manifest that does not say", []string{"esched", "run", "--trace", "200"}, 0, nil, 200},
		{"from a later session", []string{"esched", "run"}, 300, nil, 300},
		{"given anew", []string{"esched", "run", "--trace", "200"}, 200, []string{"--trace", "50"}, 50},
		{"given up", []string{"esched", "run", "--trace", "200"}, 200, []string{"--trace", "0"}, 0},
	}
	for _, test := range tests {
		g := &globals{}
		o := &runOptions{globals: g}
		o.File = "given.toml"
		o.given = pflag.NewFlagSet("run", pflag.ContinueOnError)
		o.addFlags(o.given)
		if err := o.given.Parse(append([]string{"--resume", "x"}, test.args...)); err != nil {
			t.Fatal(err)
		}
		o.inherit(g, record.Manifest{Command: test.command, Trace: test.kept})
		if o.Trace != test.want {
			t.Errorf("%s: trace %d, want %d", test.name, o.Trace, test.want)
		}
	}
}
