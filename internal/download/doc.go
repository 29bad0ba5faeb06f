// Package download gets files over HTTP, or copies them from a directory, so
// that what is there under its final name is whole: [Get] goes on with what an
// earlier attempt left, tries again when a connection breaks, and compares
// length and checksum. [Checksums] reads lists as sha256sum writes them.
//
// It knows nothing of data sets: what to get, and from where, is the caller's.
package download
