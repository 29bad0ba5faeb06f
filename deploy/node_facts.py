"""Tells, as a line of JSON, what a deployment must know of a node.

That is: the interpreter's version, those of Dask's packages without importing
them, and the addresses of the network interfaces, as psutil gives them, which
comes with Dask.
"""

import json
import platform
import socket
from importlib.metadata import PackageNotFoundError, version


def packages():
    """Return the versions of the packages without which nothing can be deployed."""
    found = {}
    for name in ("dask", "distributed"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


def interfaces():
    """Return the addresses of each interface that is up."""
    import psutil

    up = {name for name, state in psutil.net_if_stats().items() if state.isup}
    families = (socket.AF_INET, socket.AF_INET6)
    return {
        name: [a.address for a in addresses if a.family in families]
        for name, addresses in psutil.net_if_addrs().items()
        if name in up
    }


facts = {"python": platform.python_version(), "packages": packages()}
if all(facts["packages"].values()):
    facts["interfaces"] = interfaces()
print("\n" + json.dumps(facts))
