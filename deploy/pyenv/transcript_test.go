package pyenv

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestTranscript(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		output   string
		wantPkg  string
		wantEnd  string
		wantMend string
		wantSaid []string
	}{
		{
			name: "pip without a network",
			output: "Collecting alpha==1.0 (from -r r.txt (line 1))\n  Downloading alpha-1.0-py3-none-any.whl (14.2 MB)\n" +
				"Collecting beta==2.0 (from -r r.txt (line 3))\n  Downloading beta-2.0-py3-none-any.whl.metadata (4 kB)\n" +
				"WARNING: Retrying after connection broken\nERROR: Could not find a version that satisfies the requirement beta==2.0 (from versions: none)\n" +
				"ERROR: No matching distribution found for beta==2.0\n",
			wantPkg:  "beta==2.0",
			wantEnd:  "  ERROR: Could not find a version that satisfies the requirement beta==2.0 (from versions: none)\n  ERROR: No matching distribution found for beta==2.0",
			wantMend: "check the network",
			wantSaid: []string{"downloading alpha-1.0-py3-none-any.whl (14.2 MB)"},
		},
		{
			name:     "pip on a system without wheels",
			output:   "ERROR: Could not find a version that satisfies the requirement beta==2.0 (from versions: 1.0, 1.1)\nERROR: No matching distribution found for beta==2.0\n",
			wantPkg:  "beta==2.0",
			wantEnd:  "  ERROR: Could not find a version that satisfies the requirement beta==2.0 (from versions: 1.0, 1.1)\n  ERROR: No matching distribution found for beta==2.0",
			wantMend: "use a system with glibc",
		},
		{
			name:     "full disk, line not ended",
			output:   "Installing collected packages: alpha, beta\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
			wantEnd:  "  ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
			wantMend: "free 1 GB under /cache",
			wantSaid: []string{"installing collected packages"},
		},
		{
			name:     "uv",
			output:   "Resolved 2 packages in 3ms\nDownloading alpha (12.5MiB)\n  × Failed to download `beta==2.0`\n  ├─▶ Hash mismatch for `beta==2.0`\n",
			wantPkg:  "beta==2.0",
			wantEnd:  "  × Failed to download `beta==2.0`\n  ├─▶ Hash mismatch for `beta==2.0`",
			wantMend: "start again; if it stays so",
			wantSaid: []string{"downloading alpha (12.5MiB)"},
		},
		{
			name:     "something else",
			output:   "one\ntwo\n",
			wantEnd:  "  one\n  two",
			wantMend: "start again",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			var said []string
			tr := &transcript{log: &log, progress: func(s string) { said = append(said, s) }}
			for chunk := range slices.Chunk([]byte(test.output), 7) { // as pipes cut it
				if n, err := tr.Write(chunk); n != len(chunk) || err != nil {
					t.Fatalf("have %d, %v", n, err)
				}
			}
			tr.flush()
			if log.String() != test.output {
				t.Errorf("have log %q", log.String())
			}
			if tr.pkg != test.wantPkg || tr.end() != test.wantEnd {
				t.Errorf("have package %q, end %q", tr.pkg, tr.end())
			}
			if have := tr.mend("/cache"); !strings.HasPrefix(have, test.wantMend) {
				t.Errorf("have %q, want %q", have, test.wantMend)
			}
			if !slices.Equal(said, test.wantSaid) {
				t.Errorf("said %q, want %q", said, test.wantSaid)
			}
		})
	}
}
