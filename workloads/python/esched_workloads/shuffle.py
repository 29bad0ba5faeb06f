"""Shuffle: a data frame's rows, moved so that equal keys meet.

Every partition is split and its parts are sent to where they belong, by tasks.
Then the rows and the different keys of each new partition are counted: the
counts of keys add up to the number of keys only if each is in one place.
"""

import hashlib

import pandas

from esched_client import Result
from esched_workloads import frames


def count(table):
    """Return the numbers of rows and of different keys of a partition."""
    return pandas.DataFrame({"rows": [len(table)], "keys": [table["key"].nunique()]}, dtype="int64")


def submit(client, params, seed):
    """Submit the shuffle and the counts; return the future of their sums."""
    table = frames.frame(params["partitions"], seed)
    moved = table.shuffle("key", shuffle_method="tasks")
    return client.compute(moved.map_partitions(count, meta=count(frames.EMPTY)).sum())


def finish(values, params):
    """Return the sums, which are exact."""
    result = f"{int(values['rows'])} rows in {params['partitions']} partitions, {int(values['keys'])} keys"
    return Result(result=result, digest=hashlib.sha256(result.encode()).hexdigest())
