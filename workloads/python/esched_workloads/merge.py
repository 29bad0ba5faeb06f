"""Merge: many tasks that do nothing, and one that needs them all.

The graph of the smallest tasks there are. What it takes is what the scheduler
and the client cost for each task.
"""

import hashlib

from esched_client import Result


def value(index):
    """Return the index: the least that a task can do."""
    return index


def total(values):
    """Add up the results of all tasks."""
    return sum(values)


def graph(params, seed):
    """Return the task graph and the key of its result."""
    count = params["tasks"]
    label = hashlib.md5(f"{count} {seed}".encode(), usedforsecurity=False).hexdigest()
    keys = [("value-" + label, index) for index in range(count)]
    tasks = {key: (value, key[1]) for key in keys}
    last = ("total-" + label, 0)
    tasks[last] = (total, keys)
    return tasks, last


def submit(client, params, seed):
    """Submit all tasks; return the future of the sum."""
    tasks, key = graph(params, seed)
    return client.get(tasks, [key], sync=False)


def finish(values, params):
    """Return the sum, which is exact."""
    result = f"sum = {values[0]} of {params['tasks']} values"
    return Result(result=result, digest=hashlib.sha256(result.encode()).hexdigest())
