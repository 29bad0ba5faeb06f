package deploytest

import (
	"os"
	"testing"

	"github.com/esched/esched/deploy"
)

// Main is the TestMain of packages whose tests start processes: it makes the
// test binary a guard when it is executed as one (see [Guard]) and runs the
// tests otherwise. parts are further programs that the binary can be, by the
// first argument that selects them.
func Main(m *testing.M, parts ...Part) {
	if len(os.Args) > 1 {
		if os.Args[1] == guardArg {
			os.Exit(deploy.GuardMain(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		}
		for _, p := range parts {
			if os.Args[1] == p.Name {
				os.Exit(p.Main(os.Args[2:]))
			}
		}
	}
	os.Exit(m.Run())
}

// Part is a program that a test binary can be when its first argument is Name.
type Part struct {
	Name string
	Main func(args []string) int
}

const guardArg = "guard"

// Guard is the command line of the guard for tests of a binary with [Main].
func Guard() []string { return []string{os.Args[0], guardArg} }
