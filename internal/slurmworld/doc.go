// Package slurmworld is a real SLURM cluster for tests: slurmctld, and nodes
// with slurmd and sshd, on this machine.
//
// A [World] has a head, where the test runs as root, and nodes node001,
// node002 and so on. Each node has its own network, host name, processes, host
// keys, sshd on port 22, and a second network (interface ib0, names
// node001.ib.cluster). The root file system, with /home and /tmp, is the same
// everywhere, as a cluster's network file system would be; /var/tmp and
// /dev/shm are each node's own. Unlike on a network file system a unix socket
// in /tmp can be reached from every node. Everything is in namespaces of its
// own and vanishes with the test, and there is no way out to other networks.
// /home and /tmp are the world's own as well and empty at first, but for what
// arguments, environment and working directory of the test name in the
// machine's /tmp. Nothing outside changes, unless a test writes to a directory
// that is none of these.
//
// There are two ordinary users, [User] and [Other], with homes, keys and
// known_hosts, and partitions: defq (the default, all nodes, no time limit),
// short (node001, 15 minutes) and closed (it takes no jobs). Jobs get whole
// nodes. A test enters the world like this:
//
//	func TestCluster(t *testing.T) {
//		slurmworld.Run(t, slurmworld.Config{Nodes: 4}, func(t *testing.T, w *slurmworld.World) {
//			w.Command(t.Context(), t, slurmworld.User, "sbatch", ...) // as the user, in the home
//			w.Crash(t, "node002")                                  // and other faults
//			w.Processes(t, "node001")                              // what a user left there
//		})
//	}
//
// Run starts the test binary again inside a world, for this one test. A
// package whose tests all live in one world calls [Main] from TestMain and
// [Here] from the tests. By hand, as root:
//
//	internal/slurmworld/world.sh run 4 bash
//	ssh node001; sinfo; su - das
//
// Other users cannot execute the test binary or read t.TempDir(): use
// [World.Install] and [World.TempDir].
//
// The package is for tests only. It knows nothing of esched, and DAS's
// preserve and prun are not in it.
package slurmworld
