// Package daskrpc asks a Dask scheduler, over the connection that its workers
// and clients use, who has registered with it.
//
// A [Client] speaks the part of Dask's protocol that one question needs: the
// exchange of facts at the start of a connection, and messages of a single
// frame of MessagePack. That part is the same in all versions of Dask that
// esched deploys. So a scheduler needs no HTTP port, which Dask could not
// protect by certificates of its visitors.
//
// The package does not dial, encrypt, or understand tasks.
package daskrpc
