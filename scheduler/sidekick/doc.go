// Package sidekick drives an unmodified Dask scheduler from a core: Dask
// executes, and every placement comes from esched.
//
// Two halves talk over a unix socket. The Python half ([Preload], made of the
// chapters in preload/) is loaded by "dask scheduler --preload"; it mirrors
// Dask's state to the Go half as fire-and-forget records, looks up placements
// that were pushed before Dask needed them, and asks, with a deadline, when one
// is missing. The Go half ([Serve]) is a [scheduler.Core] behind that socket.
// When the Go half dies, hangs or answers nonsense, Dask decides by itself and
// such fallbacks are counted.
//
// wire.go describes the protocol. DESIGN.md in this directory explains the
// chapters, and which of Dask's functions they replace, and why.
package sidekick
