"""Groupby: a data frame's values, counted and added up by key.

Each partition is aggregated alone; the results are merged in a tree.
"""

import hashlib

from esched_client import Result
from esched_workloads import frames


def submit(client, params, seed):
    """Submit the aggregation; return the future of its result."""
    table = frames.frame(params["partitions"], seed)
    groups = table.groupby("key").agg({"value": ["count", "sum", "max"]})
    return client.compute(groups)


def finish(values, params):
    """Return the totals; the digest covers every group."""
    groups = values.sort_index()
    lines = [f"{key} {row[0]} {row[1]} {row[2]}" for key, row in zip(groups.index, groups.to_numpy(dtype="int64"))]
    rows, total = int(groups["value", "count"].sum()), int(groups["value", "sum"].sum())
    return Result(
        result=f"{len(groups)} groups of {rows} rows, sum = {total}",
        digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    )
