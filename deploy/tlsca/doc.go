// Package tlsca is the certificate authority of one run: it vouches for the
// nodes of the run's deployments and for nobody else.
//
// An [Authority] lives in memory, its key is never written anywhere, and it
// ends with the process that made it; a resumed run makes another. It issues
// an [Identity] to each node of a deployment: a certificate and its key, for
// both ends of a connection, since every Dask process listens and connects.
//
// The package opens no connection and writes no file; package deploy brings
// the identities to the nodes.
package tlsca
