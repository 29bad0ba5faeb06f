"""The data frames of the workloads that use dask.dataframe.

A partition has ROWS rows. Its column ``key`` holds each of the KEYS keys
equally often, its column ``value`` each number below ROWS once, both in an
order drawn from the seed and the partition's index. So sums are known, and
what belongs together is not.
"""

import dask.dataframe
import numpy
import pandas

ROWS = 1000
KEYS = 100


def partition(index, seed=0):
    """Return one partition."""
    stream = numpy.random.Generator(
        numpy.random.PCG64(numpy.random.SeedSequence(seed, spawn_key=(index,)))
    )
    return pandas.DataFrame(
        {
            "key": stream.permutation(ROWS).astype("int64") % KEYS,
            "value": stream.permutation(ROWS).astype("int64"),
        }
    )


#: Shows the columns of a partition.
EMPTY = partition(0).iloc[:0]


def frame(partitions, seed):
    """Return the collection of all partitions; nothing is computed."""
    return dask.dataframe.from_map(
        partition, range(partitions), seed=seed, meta=EMPTY, enforce_metadata=False
    )
