"""Workloads that go wrong, for tests; the parameter mode says how."""

import ctypes
import os
import signal
import stat
import sys
import time

from esched_client import Result


def fail(mode):
    """Go wrong on a worker."""
    if mode == "raise":
        raise ZeroDivisionError("the divisor\nwas zero")
    if mode == "hang":
        time.sleep(3600)
    return mode


def submit(client, params, seed):
    """Submit one task, after going wrong in the client where that is asked."""
    mode = params["mode"]
    if mode == "garbage":
        print('{"id": 1, "status": "ok"}', flush=True)
        os.write(1, b"\x00garbage\n")
        ctypes.CDLL(None).puts(b"from C")
        sys.stdin.read()
    elif mode == "corrupt":  # finds the protocol's own descriptor
        for fd in range(3, 64):
            try:
                if stat.S_ISFIFO(os.fstat(fd).st_mode):
                    os.write(fd, b"garbage\n")
            except OSError:
                pass
    elif mode == "kill":
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return client.submit(fail, mode, pure=False)


def finish(values, params):
    """Return a digest, a wrong one where that is asked."""
    wrong = params["mode"] == "wrong-digest"
    return Result(result=values, digest="wrong" if wrong else "right")
