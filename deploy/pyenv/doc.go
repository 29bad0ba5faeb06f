// Package pyenv makes the Python environments that Dask runs in: pinned, the
// same on every machine, and made once.
//
// A [Lockfile] names every package of an environment with its version and
// the hashes of its files; the locks are part of the binary (locks/*.txt,
// written by locks/update.sh from locks/*.in). [Manager.Ensure] turns a lock
// into an [Environment]: a directory in the user's cache, installed by uv
// when that is on PATH and by venv and pip when not, each held to the hashes.
// An environment is complete when its stamp, written last, is there;
// anything else is made anew. [Manager.Own] looks at an environment that the
// user made.
//
// A [Copy] brings an environment to nodes that do not see it, once for each
// node and content; only [Unstage] takes it away.
//
// This package does not decide which environment a trial uses.
package pyenv
