// Package deploy starts the processes of a run on the nodes of a reservation
// and ends them, however the run ends.
//
// A [Host] runs commands on one node (this machine: deploy/local; a node
// over SSH: deploy/ssh); all Hosts pass the conformance suite in
// deploy/deploytest. A [Deployment] is one Dask scheduler, the esched
// decision service beside it when the scheduler is external, and workers, as
// a [Spec] describes them.
//
// Every node climbs a ladder of [Rung]s; one that misses a rung for a reason of
// its own is a [BadHost]. With [TLS], connections need a certificate of the
// run's authority (deploy/tlsca), and no deployment leaves an HTTP port open.
//
// Every process runs under a guard (esched's own binary): the guard holds the
// process group, forwards signals, and ends the whole group when its standard
// input closes, so nothing outlives esched, the connection, or a crash of
// either. Python environments are in deploy/pyenv.
//
// This package does not know where the nodes come from; see package reserve.
package deploy
