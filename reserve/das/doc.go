// Package das reserves nodes of DAS clusters with the command preserve.
//
// A [Reserver] makes reservations by "preserve -np N -t HH:MM:SS", asks for
// their state by "preserve -llist", and gives them back by "preserve -c ID". A
// reservation's state follows from what the listing shows: preserve tells no
// reasons, no years in its dates, and forgets a reservation that ended.
//
// Reservations have no names. So a reservation whose number was lost, because
// esched died while preserve was at work, is never guessed: the ledger keeps
// that one was asked for, and releasing it names the candidates.
//
// This package starts nothing on the nodes, and does not know the queue that
// preserve itself uses.
package das
