// Package launch is the deploy.Host of a node that a command reaches: srun or
// prun inside a reservation, for sites where nobody may ssh to nodes.
//
// A [Host] starts the command once for each process; it must connect its
// standard streams with those of esched's guard on the node. Files travel the
// same way. There is no way to connect to a port of the node (it is no
// deploy.Dialer): what listens there is reached over the network.
//
// This package knows no queue: the command line is the caller's.
package launch
