// Package local is the reserve.Reserver of the machine esched runs on.
//
// There is no queue: a [Reserver] grants its one node at once, until the end of
// the claim by its clock, and knows no other users. It enters its reservations
// in the ledger all the same, so that what holds for one kind of cluster holds
// for all. There is nothing in them that a later run could adopt.
package local
