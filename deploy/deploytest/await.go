package deploytest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/esched/esched/deploy"
)

// Await polls until check returns no error, and ends the test when that takes
// longer than the bound.
func Await(t testing.TB, what string, bound time.Duration, check func() error) {
	t.Helper()
	for end := time.Now().Add(bound); ; time.Sleep(20 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %v: want %s: %v", bound, what, err)
		}
	}
}

// Ended waits for the end of a process, and ends the test, and the process, when
// that takes longer than the bound.
func Ended(t testing.TB, p deploy.Process, bound time.Duration) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(bound):
		t.Fatal(errors.Join(fmt.Errorf("process %d has not ended after %v", p.PID(), bound), p.Stop(0)))
	}
}

// absolutes is a client that computes the absolute values of -1 and -2.
const absolutes = `import sys; from distributed import Client
with Client(sys.argv[1], timeout=300) as c: print(c.gather(c.map(abs, [-1, -2])))`

// Compute has a driver of a deployment compute absolute values, and checks what
// it prints. Its log is kept in dir.
func Compute(t testing.TB, d *deploy.Deployment, python, dir, want string, bound time.Duration) {
	t.Helper()
	var out deploy.Tail
	log := filepath.Join(dir, "driver.log")
	p, err := d.Driver(t.Context(), deploy.Command{
		Name: "driver", Argv: []string{python, "-c", absolutes, d.Addr()}, Stdout: &out, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	Ended(t, p, bound)
	if p.Err() != nil || out.String() != want {
		text, _ := os.ReadFile(log)
		t.Errorf("want %s, have %q, %v\n%s", want, out.String(), p.Err(), text)
	}
}
