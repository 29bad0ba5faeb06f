"""Graphs of tasks that take a given time and return bytes of a given size.

esched builds the graph and sends it with the request (the parameter ``graph``),
column by column, so that it is the same under every version of Python and
Dask. What a task returns is a digest of its index and of what it has read,
repeated to the size asked for: who knows the graph knows the results.
"""

import hashlib
import time

from esched_client import Result

#: Bytes of a task's digest, and of the smallest result.
DIGEST = 16
#: Seconds before its end from which on a task computes in small steps.
NEAR = 1e-3
#: Bytes hashed in a step: the large one takes up to 200 microseconds, the small
#: one up to 15. Both are large enough for hashlib to release Python's lock.
LARGE, SMALL = 1 << 16, 1 << 12

ZEROS = memoryview(bytes(LARGE))


def answer(index, size, inputs):
    """Return the bytes that a task returns."""
    text = bytearray(index.to_bytes(8, "big"))
    for value in inputs:
        text += len(value).to_bytes(8, "big")
        text += value[:DIGEST]
        text += value[-DIGEST:]
    digest = hashlib.sha256(text).digest()[:DIGEST]
    return (digest * (size // DIGEST + 1))[:size]


def compute(index, seconds, size, inputs):
    """Use so much CPU time and return an answer.

    The clock is the thread's own: other threads and processes do not count.
    """
    end = time.thread_time() + seconds
    value = answer(index, size, inputs)
    while (left := end - time.thread_time()) > 0:
        hashlib.sha256(ZEROS if left > NEAR else ZEROS[:SMALL])
    return value


def sleep(index, seconds, size, inputs):
    """Wait so long and return an answer."""
    end = time.perf_counter() + seconds
    value = answer(index, size, inputs)
    time.sleep(max(0.0, end - time.perf_counter()))
    return value


def graph(columns):
    """Return the task graph and the keys of the tasks that no other one reads."""
    names = [f"{name}-{columns['label']}" for name in columns["names"]]
    keys = [(names[name], index) for index, name in enumerate(columns["name"])]
    work = sleep if columns["sleep"] else compute
    tasks, read = {}, set()
    for index, (key, inputs) in enumerate(zip(keys, columns["inputs"])):
        read.update(inputs)
        tasks[key] = (
            work,
            index,
            columns["us"][index] / 1e6,
            columns["bytes"][index],
            [keys[other] for other in inputs],
        )
    return tasks, [key for index, key in enumerate(keys) if index not in read]


def submit(client, params, seed):
    """Submit all tasks; return the futures of the last ones."""
    tasks, last = graph(params["graph"])
    return client.get(tasks, last, sync=False)


def finish(values, params):
    """Return a digest of all results that no task reads."""
    return Result(
        result=f"{len(values)} results of {len(params['graph']['name'])} tasks",
        digest=hashlib.sha256(b"".join(values)).hexdigest(),
    )
