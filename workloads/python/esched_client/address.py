"""The address of a Dask scheduler that may still be about to start."""

import contextlib
import json
import time


def wait_for(path, seconds):
    """Return the address in a scheduler file, which is waited for as long as that."""
    end = time.monotonic() + seconds
    while True:
        # Dask does not write the file atomically: a part of it is no error.
        with contextlib.suppress(OSError, ValueError), open(path) as f:
            return json.load(f)["address"]
        if time.monotonic() > end:
            raise SystemExit(f"no scheduler file at {path} after {seconds:g} s")
        time.sleep(0.05)
