package deploytest

import (
	"os"
	"syscall"
	"testing"
)

// Script writes an executable shell script. No child is started while the file
// is open: one that had inherited it, and not executed its program yet, would
// keep others from executing the script ("text file busy").
func Script(t testing.TB, path, body string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
