"""Programs that go wrong, for tests; the parameter mode says how."""

import os
import subprocess
import sys
import time

from esched_client import Result


def nap(seconds):
    """Occupy a worker."""
    time.sleep(seconds)
    return seconds


def run(client, params, seed):
    """Go wrong in one of many ways."""
    mode = params["mode"]
    print(f"{mode} of {seed} begins", file=sys.stderr, flush=True)
    if mode == "raise":
        raise ZeroDivisionError("the divisor was zero")
    if mode == "raise-in-task":
        return client.submit(divmod, 1, 0).result()
    if mode == "hang":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True)
        time.sleep(3600)
    if mode == "hang-in-task":
        client.submit(nap, 3600).result()
    if mode == "exit":
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    if mode == "kill":
        os.kill(os.getpid(), 9)
    if mode == "memory":
        hoard = bytearray(os.urandom(1 << 20)) * 600
        time.sleep(3600)  # until somebody looks
        return len(hoard)
    if mode == "large":
        return "x" * 5_000_000
    if mode == "garbage":
        return float("nan")
    if mode == "object":
        return object()
    if mode == "nothing":
        return None
    if mode == "noise":
        for _ in range(20_000):
            print("noise " * 20)
        return "quiet"
    if mode == "result":
        return Result(result="as text", digest="of my own")
    if mode == "numpy":
        import numpy

        return {"b": numpy.arange(3), "a": numpy.float64(0.5)}
    return client.submit(sum, [seed, 2]).result()
