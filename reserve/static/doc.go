// Package static is the reserve.Reserver of a list of hosts without a queue.
//
// A claim is advisory: other people do not know of it. Among the runs of one
// user the ledger is the queue: a [Reserver] grants hosts that no other entry
// holds, lets later runs wait, and takes a claim as over at its deadline. It
// does not contact the hosts.
//
// What a killed run left holds its hosts in the ledger for nobody. When the
// next run adopts it, these are free again at once, and that run gets them, or
// others, for a claim of its own that begins anew: there is no queue in which
// the old claim would have been worth a place, and nobody else who grants time.
package static
