// Package reserve obtains nodes from a queue until a deadline and gives them
// back.
//
// A [Reserver] speaks to one kind of queue (this machine, a host list, SLURM,
// DAS preserve); a [Reservation] is what it granted. Whatever is requested is
// written to the [Ledger] before anybody waits for it, so that a later
// "esched clean" can release what a killed run left, by recorded id and never
// by name. All Reservers pass the conformance suite in reserve/reservetest.
//
// This package does not know how processes are started on the nodes; see
// package deploy.
package reserve
