package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "process.log")
	const limit = 1000
	var all strings.Builder
	for range 2 { // a process, and another with the same log
		l, err := openLog(path, limit)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			line := fmt.Sprintf("line %d\n", i)
			all.WriteString(line)
			if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	aside, err := os.ReadFile(path + asideSuffix)
	if err != nil {
		t.Fatal(err)
	}
	current, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(aside) > limit || len(current) > limit || len(current) == 0 {
		t.Errorf("want at most %d bytes each, have %d and %d", limit, len(aside), len(current))
	}
	if !strings.HasSuffix(all.String(), string(aside)+string(current)) {
		t.Errorf("want the end of what was written, have %q and %q", aside, current)
	}
}
