package sidekick

import _ "embed"

//go:embed esched_preload.py
var preload []byte

// Preload returns the Python half: a module for "dask scheduler --preload",
// which finds the service's socket in the variable ESCHED_SOCKET.
func Preload() []byte { return preload }
