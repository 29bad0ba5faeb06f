"""What a scenario is, and what it acts on."""

from __future__ import annotations

import os
import time

from distributed import Client

SCENARIOS: dict = {}

PATIENCE = 90.0
"""Seconds to wait for what takes a fraction of one: only a test that fails waits that long."""

ALL = {"n_workers": -1} if "n_workers" in Client.scheduler_info.__code__.co_varnames else {}


def scenario(function):
    """Register a scenario under its function's name."""
    SCENARIOS[function.__name__] = function
    return function


class Stage:
    """What a scenario acts on."""

    def __init__(self, client, nursery, file: str, directory: str) -> None:
        self.directory = directory
        self.client = client
        self.nursery = nursery
        self.file = file
        self.late = 0
        self.gates = 0

    def gate(self) -> str:
        """Return the name of a file that is not there, for tasks to wait for."""
        self.gates += 1
        return os.path.join(self.directory, f"gate-{self.gates}")

    def open(self, gate: str) -> None:
        """Let the tasks go on that wait for a gate."""
        with open(gate, "w"):
            pass

    def rpc(self, name: str, **kwargs):
        """Call a handler of the scheduler."""
        return self.client.sync(getattr(self.client.scheduler, name), **kwargs)

    def until(self, what: str, condition, bound: float = PATIENCE) -> None:
        """Poll a condition until it holds."""
        end = time.monotonic() + bound
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} not within {bound} s")
            time.sleep(0.01)

    def worker(self, **options) -> str:
        """Start one more worker and return its name."""
        self.late += 1
        name = f"late{self.late}"
        self.nursery.add(name, nthreads=options.pop("nthreads", 1), **options)
        return name

    def address(self, name: str) -> str:
        """Return the address of a worker, waiting until it is there."""
        found: list = []

        def there() -> bool:
            workers = self.client.scheduler_info(**ALL)["workers"]
            found[:] = [a for a, w in workers.items() if w["name"] == name]
            return bool(found)

        self.until(f"worker {name}", there)
        return found[0]

    def gone(self, address: str) -> None:
        """Wait until a worker is gone."""
        self.until(f"end of {address}", lambda: address not in self.client.scheduler_info(**ALL)["workers"])

    def retire(self, name: str) -> None:
        """Let an extra worker go."""
        address = self.address(name)
        self.client.retire_workers([address], close_workers=True)
        self.gone(address)
