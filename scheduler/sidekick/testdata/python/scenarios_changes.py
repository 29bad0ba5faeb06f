"""Scenarios of what changes while a graph runs: what users want, workers, the policy."""

from __future__ import annotations

import os
import signal

import dask
import distributed
from distributed import wait
from remote import (
    add,
    breaks,
    fails_once,
    flaky,
    inc,
    known,
    notes,
    placements,
    remains,
    set_status,
    status_of,
    stored,
    total,
    where,
)
from stage import PATIENCE, scenario

# ---- what users change their minds about ----


@scenario
def cancelled(s):
    """Tasks cancelled before, while and after they run."""
    gate = s.gate()
    f = s.client.map(inc, range(20), key="cancelled")
    f += s.client.map(inc, range(20, 80), gate=gate, key="cancelled-late")
    g = s.client.submit(total, f)
    wait(f[0])
    s.client.cancel(f[20:])
    s.until("cancelled", lambda f=g: f.status == "cancelled")
    s.open(gate)
    assert s.client.gather(f[:5]) == [1, 2, 3, 4, 5]
    del f, g
    assert s.client.submit(inc, 1, pure=False).result() == 2


@scenario
def errors(s):
    """Errors reach dependents; retries mend some."""
    bad = s.client.map(breaks, range(30), key="bad")
    after = s.client.submit(total, bad, key="after-bad")
    # Not result(): the traceback of what it raises keeps this frame's futures.
    assert isinstance(after.exception(timeout=PATIENCE), ZeroDivisionError)
    wait(bad)
    assert all(b.status == "error" for b in bad)
    tried = s.client.map(flaky, range(20), retries=20, key="flaky")
    assert s.client.gather(tried) == list(range(20))
    once = s.client.submit(fails_once, 1000, os.path.join(s.directory, "once"), key="once")
    wait(once)
    assert once.status == "error"
    once.retry()
    assert once.result(timeout=PATIENCE) == 1000


@scenario
def priorities(s):
    """Urgent tasks overtake a long queue."""
    gate, journal = s.gate(), os.path.join(s.directory, f"journal-{s.gates}")
    slow = s.client.map(notes, range(150), gate=gate, journal=journal, key="slow")
    urgent = s.client.map(notes, range(1000, 1005), gate=gate, journal=journal, priority=10, key="urgent")
    keys = [f.key for f in urgent]
    s.until("urgent tasks", lambda: s.client.run_on_scheduler(known, keys) == len(keys))
    s.open(gate)
    assert sum(s.client.gather(urgent)) == sum(range(1000, 1005))
    assert sum(s.client.gather(slow)) == sum(range(150))
    # By worker, since one may stand still while the others are nearly done.
    orders: dict = {}
    with open(journal) as file:
        for line in file:
            x, address = line.split()
            orders.setdefault(address, []).append(int(x))
    for order in orders.values():
        assert all(order.index(x) < 15 for x in order if x >= 1000), orders


@scenario
def annotated(s):
    """Annotations of a graph's parts."""
    a = s.address("w1")
    with dask.annotate(workers=["w1"], priority=3):
        x = dask.delayed(where, pure=False)()
    with dask.annotate(retries=3):
        y = dask.delayed(flaky)(99)
    with dask.annotate(resources={"gpu": 1}):
        z = dask.delayed(where, pure=False)()
    x, y, z = s.client.gather(s.client.compute([x, y, z], optimize_graph=False))
    assert x == a and y == 99 and z in (s.address("w2"), s.address("w3"))


# ---- workers that come, go and rest ----


@scenario
def worker_joins(s):
    """A worker added in the middle of a graph gets work."""
    gate = s.gate()
    f = s.client.map(where, range(200), delay=0.02, gate=gate, key="joins", pure=False)
    name = s.worker()
    address = s.address(name)
    s.open(gate)
    assert address in s.client.gather(f)
    del f
    s.retire(name)


@scenario
def worker_rests(s):
    """A paused worker gets nothing new."""
    a = s.address("w0")
    f = s.client.map(where, range(150), delay=0.01, key="rests", pure=False)
    wait(f[:10])
    s.client.run(set_status, status="paused", workers=[a])
    s.until("paused", lambda: s.client.run_on_scheduler(status_of, a) == "paused")
    g = s.client.map(where, range(40), key="while-paused", pure=False)
    h = s.client.map(lambda x: (distributed.get_worker().address, x)[0], g, key="while-paused-2")
    got = set(s.client.gather(g)) | set(s.client.gather(h))
    s.client.run(set_status, status="running", workers=[a])
    assert a not in got
    assert len(s.client.gather(f)) == 150


@scenario
def worker_dies(s):
    """A worker killed in the middle of a graph, with results on it."""
    name = s.worker(nthreads=2)
    address = s.address(name)
    n, gate = 120, s.gate()
    g = {("dies", i): (inc, i, 0.01) for i in range(n)}
    g.update({("dies-2", i): (inc, ("dies", i), 0.005) for i in range(n)})
    # The results stay until the gate opens, however late the client looks.
    g["dies-sum"] = (total, [("dies-2", i) for i in range(n)], gate)
    f = s.client.get(g, "dies-sum", sync=False)
    s.until("results on it", lambda: s.client.run_on_scheduler(stored, address) >= 3)
    s.nursery.kill(name, signal.SIGKILL)
    s.gone(address)
    s.open(gate)
    assert f.result(timeout=PATIENCE) == sum(range(n)) + 2 * n


@scenario
def every_policy(s):
    """Each built-in policy brings a mixed graph to its end."""
    names = os.environ["POLICIES"].split(",")
    for name in names:
        reply = s.rpc("esched_begin", policy=name, seed=3, options={"slots": "stock"})
        assert reply["status"] == "OK", reply
        n = 30
        g = {("p", i): (inc, i) for i in range(n)}
        g.update({("q", i): (add, ("p", i), ("p", (i + 1) % n)) for i in range(n)})
        g["r"] = (total, [("q", i) for i in range(n)])
        assert s.client.get(g, "r") == n * (n + 1)
        s.until("forgotten", lambda: not s.client.run_on_scheduler(remains))
        end = s.rpc("esched_end")
        assert (end["decisions"], end["fallbacks"]) == (2 * n + 1, 0), (name, end["decisions"], end["fallbacks"])
    assert s.rpc("esched_begin", policy="none-such")["status"] == "error"
    # What follows is counted from here.
    assert s.rpc("esched_begin", policy="random")["status"] == "OK"
    s.restarted = s.client.run_on_scheduler(placements)
    assert s.client.gather(s.client.map(inc, range(3), key="after-policies")) == [1, 2, 3]
