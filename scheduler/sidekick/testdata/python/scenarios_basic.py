"""Scenarios of graphs, of who may run a task, of tasks that do more, and of data."""

from __future__ import annotations

import random
import socket
import threading

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from distributed import Client, wait
from remote import Counter, add, alone, inc, nested, secedes, total, unrunnable, waits, where
from stage import ALL, PATIENCE, scenario

# ---- shapes of graphs ----


@scenario
def merge(s):
    """Many root tasks, late bound, and one that takes them all."""
    n = 300
    g = {("merge", i): (inc, i) for i in range(n)}
    g["merge-sum"] = (total, [("merge", i) for i in range(n)])
    assert s.client.get(g, "merge-sum") == n * (n + 1) // 2


@scenario
def few(s):
    """Tasks without inputs, too few to be queued."""
    assert s.client.gather(s.client.map(inc, range(3), key="few")) == [1, 2, 3]


@scenario
def many(s):
    """Tasks without inputs, queued, without a task that takes them."""
    assert s.client.gather(s.client.map(inc, range(200), key="many")) == list(range(1, 201))


@scenario
def chains(s):
    """Linear chains: each task has one input, on one worker."""
    n, length = 7, 15
    g = {("chain-0", i): (inc, i) for i in range(n)}
    for k in range(1, length):
        g.update({(f"chain-{k}", i): (inc, (f"chain-{k - 1}", i)) for i in range(n)})
    assert s.client.get(g, [(f"chain-{length - 1}", i) for i in range(n)]) == [i + length for i in range(n)]


@scenario
def tree(s):
    """A binary reduction."""
    g = {("tree-0", i): (inc, i) for i in range(128)}
    for k in range(1, 8):
        for i in range(128 >> k):
            g[f"tree-{k}", i] = (add, (f"tree-{k - 1}", 2 * i), (f"tree-{k - 1}", 2 * i + 1))
    assert s.client.get(g, ("tree-7", 0)) == 128 * 129 // 2


@scenario
def task_shuffle(s):
    """Each output takes a part of each input."""
    n = 10
    g = {("in", i): (list, (range, i * n, i * n + n)) for i in range(n)}
    g.update({("part", i, j): (lambda xs, j: xs[j], ("in", i), j) for i in range(n) for j in range(n)})
    g.update({("out", j): (total, [("part", i, j) for i in range(n)]) for j in range(n)})
    assert s.client.get(g, [("out", j) for j in range(n)]) == [sum(range(j, n * n, n)) for j in range(n)]


@scenario
def fan_in(s):
    """One task with very many inputs, some of them large."""
    xs = s.client.map(lambda i: bytes(i * 10), range(400), key="fan-in")
    assert s.client.submit(lambda xs: sum(map(len, xs)), xs).result() == 10 * 399 * 400 // 2


@scenario
def p2p_shuffle(s):
    """A data frame's shuffle and merge as Dask does it by default."""
    frame = pd.DataFrame({"k": [i * 7 % 13 for i in range(600)], "v": range(600)})
    d = dd.from_pandas(frame, npartitions=8)
    shuffled = d.shuffle("k", npartitions=6).compute()
    assert sorted(shuffled.v) == list(range(600))
    joined = d.merge(d.rename(columns={"v": "w"}), on="k").groupby("k").v.count().compute()
    want = frame.merge(frame.rename(columns={"v": "w"}), on="k").groupby("k").v.count()
    assert joined.sort_index().tolist() == want.tolist()


# ---- who may run it ----


def quiet_port() -> int:
    """Return a free port of those that the kernel gives nobody by itself."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@scenario
def no_worker(s):
    """A task that no worker may run, until one appears."""
    late = s.client.submit(where, resources={"late": 1}, key="late", pure=False)
    after = s.client.submit(lambda x: x, late, key="after-late")
    port = quiet_port()
    address = f"tcp://127.0.0.1:{port}"
    pinned = s.client.submit(where, workers=[address], key="pinned", pure=False)
    s.until("no-worker", lambda: s.client.run_on_scheduler(unrunnable) == 2)
    a = s.worker(resources={"late": 1})
    b = s.worker(port=port)
    assert after.result(timeout=PATIENCE) == s.address(a)
    assert pinned.result(timeout=PATIENCE) == s.address(b) == address
    del late, after, pinned
    s.retire(a)
    s.retire(b)


@scenario
def restrictions(s):
    """Tasks bound to workers, to a host, or only loosely."""
    a, b = s.address("w0"), s.address("w1")
    one = s.client.map(where, range(30), workers=["w0"], key="one", pure=False)
    two = s.client.map(where, range(30), workers=[a, b], key="two", pure=False)
    host = s.client.map(where, range(30), workers=["127.0.0.1"], key="host", pure=False)
    loose = s.client.submit(where, workers=["tcp://127.0.0.1:9"], allow_other_workers=True, pure=False)
    assert set(s.client.gather(one)) == {a}
    assert set(s.client.gather(two)) <= {a, b}
    assert set(s.client.gather(host)) <= set(s.client.scheduler_info(**ALL)["workers"])
    assert loose.result(timeout=PATIENCE) in s.client.scheduler_info(**ALL)["workers"]


@scenario
def resources(s):
    """Tasks that need a resource of which a worker has one."""
    got = s.client.map(alone, range(10), delay=0.01, resources={"gpu": 1}, key="gpu")
    assert set(s.client.gather(got)) <= {"w2", "w3"}


@scenario
def actors(s):
    """State that lives on a worker."""
    counters = [s.client.submit(Counter, actor=True, pure=False) for _ in range(3)]
    for c in [f.result() for f in counters]:
        assert [c.more().result() for _ in range(4)] == [1, 2, 3, 4]
        del c
    del counters


# ---- tasks that do more than compute ----


@scenario
def long_running(s):
    """Tasks that leave the thread pool; tasks that submit tasks."""
    a = s.client.map(secedes, range(20), key="secedes")
    b = s.client.map(nested, [5] * 4, key="nested", pure=False)
    c = s.client.map(waits, range(6), key="waits")
    assert s.client.gather(a) == list(range(1, 21))
    assert s.client.gather(b) == [15] * 4
    assert s.client.gather(c) == list(range(1, 7))


@scenario
def several_clients(s):
    """Graphs of several clients at once."""
    results: dict = {}

    def drive(k):
        with Client(scheduler_file=s.file, set_as_default=False) as c:
            futures = [c.map(inc, range(50), key=f"multi-{k}-{r}") for r in range(3)]
            results[k] = [sum(c.gather(f)) for f in futures]

    threads = [threading.Thread(target=drive, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    assert results == {k: [1275] * 3 for k in range(3)}, results


# ---- data that is there already ----


@scenario
def scattered(s):
    """Data placed by the client, to the workers or through the scheduler."""
    a = s.client.scatter(list(range(20)), direct=False)
    b = s.client.scatter(list(range(20)), direct=True)
    c = s.client.scatter(100, broadcast=True)
    f = [s.client.submit(add, x, y, c, pure=False) for x, y in zip(a, b, strict=True)]
    assert s.client.gather(f) == [2 * i + 100 for i in range(20)]


@scenario
def persisted(s):
    """Results that stay, are used by two graphs, and are computed again."""
    x = da.arange(4000, chunks=40).persist()
    assert int(x.sum().compute()) == 3999 * 2000
    assert int((x + 1).sum().compute()) == 3999 * 2000 + 4000
    del x
    for _ in range(2):  # the same keys once more
        f = s.client.map(inc, range(60), key="again")
        assert sum(s.client.gather(f)) == 1830
        del f
    held = s.client.submit(inc, 1, key="held")
    wait(held)
    assert s.client.submit(inc, held, key="uses-held").result() == 3
    del held


@scenario
def published(s):
    """Results shared under a name."""
    f = s.client.submit(inc, 41, key="published")
    s.client.publish_dataset(answer=f)
    del f
    assert s.client.get_dataset("answer").result() == 42
    s.client.unpublish_dataset("answer")


@scenario
def moved(s):
    """Results copied, spread, and saved from a worker that leaves."""
    f = s.client.map(inc, range(20), key="moved", workers=["w0"], allow_other_workers=False)
    wait(f)
    s.client.replicate(f[:5], n=2)
    s.client.rebalance(f)
    extra = s.worker()
    address = s.address(extra)
    g = s.client.map(inc, f, key="on-extra", workers=[address])
    wait(g)
    s.client.retire_workers([address], close_workers=True)
    s.gone(address)
    h = s.client.map(inc, g, key="after-extra")
    assert s.client.gather(h) == [i + 3 for i in range(20)]
