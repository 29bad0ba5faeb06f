"""Pipeline: the preparation of Expedia's data for a ranking of hotels.

Several pipelines run at once; each draws rows of its own from the data set. In
the form ``frames`` a stage is a task that gets whole tables and gives a whole
table, as in the lab report's prototype; in the form ``partitions`` tables are
Dask data frames. Both give the same two tables, which stay on the workers: a
task, or one for each partition, digests them.
"""

import hashlib

from esched_client import Result
from esched_workloads import expedia, pipeline_digest, pipeline_partitions
from esched_workloads import pipeline_stages as stages

#: How often the stages of the prototype merged statistics into a training table
#: that nobody read: they are left out.
DEAD = len(stages.FEATURES)


def sources(params, seed):
    """Return what each pipeline reads: see :func:`pipeline_partitions.tables`."""
    parts = {table: len(rows) for table, rows in expedia.manifest(params["data"]).items()}
    for table, number in parts.items():
        if params["partitions"] > number:
            raise ValueError(f"{params['partitions']} partitions of a {table} table in {number} parts")
    return [
        {"directory": params["data"]}
        | {table: (number, params["rows"], (seed, pipeline)) for table, number in parts.items()}
        for pipeline in range(params["pipelines"])
    ]


class Graph:
    """The tasks of several pipelines, those of a stage under a common name."""

    def __init__(self, label):
        self.label, self.tasks, self.pipeline = label, {}, 0

    def add(self, function, *arguments, stage=None):
        """Add a task of the current pipeline and return its key, an argument of others."""
        name = f"{stage or function.__name__.replace('_', '-')}-{self.label}"
        key = (name, self.pipeline)
        self.tasks[key] = (function, *arguments)
        return key

    def add_pipeline(self, source):
        """Add the stages of a pipeline; return the keys of the digests of both tables."""
        add = self.add
        start = {
            table: add(read, source["directory"], table, *source[table][:2], *source[table][2], stage=f"read-{table}")
            for table in expedia.TABLES
        }
        train = add(stages.create_relevance, start["train"])
        train = add(stages.handle_datetime, train, stage="handle-datetime-train")
        test = add(stages.handle_datetime, start["test"], stage="handle-datetime-test")
        train = add(stages.select_subset, add(stages.remove_outliers, train))
        positions = add(stages.compute_mean_positions, train)
        train = add(stages.merge_mean_positions, train, positions, stage="merge-mean-positions-train")
        test = add(stages.merge_mean_positions, test, positions, stage="merge-mean-positions-test")
        clicks = add(stages.compute_prior, train, "click_bool", stage="click-prior")
        bookings = add(stages.compute_prior, train, "booking_bool", stage="booking-prior")
        train = add(stages.handle_single_records, add(stages.combine_priors, train, clicks, bookings))
        test = add(stages.handle_priors_test, test, train)
        train = add(stages.previous_searches_train, train)
        test = add(stages.previous_searches_test, test, train)
        counts = add(stages.booking_counts, train)
        train = add(stages.merge_booking_count, train, counts, stage="merge-booking-count-train")
        test = add(stages.merge_booking_count, test, counts, stage="merge-booking-count-test")
        distances = add(stages.mean_distances, train)
        train = add(stages.merge_mean_distances, train, distances, stage="merge-mean-distances-train")
        test = add(stages.merge_mean_distances, test, distances, stage="merge-mean-distances-test")
        summed = [
            add(stages.stats, train, feature, stage="stats-" + feature.replace("_", "-")) for feature in stages.FEATURES
        ]
        for feature, one in zip(stages.FEATURES, summed):
            test = add(stages.merge_stats, test, one, stage="merge-stats-" + feature.replace("_", "-"))
        return [
            add(pipeline_digest.digest, table, stage=f"digest-{name}")
            for name, table in (("train", train), ("test", test))
        ]


def read(directory, table, parts, rows, seed, pipeline):
    """Return a pipeline's whole table."""
    return stages.read(directory, table, 0, parts, parts, rows, (seed, pipeline))


def graph(params, seed):
    """Return the task graph of the form frames, and the keys of its results."""
    named = f"{params['pipelines']} {params['rows']} {params['data']} {seed}"
    made = Graph(hashlib.md5(named.encode(), usedforsecurity=False).hexdigest())
    keys = []
    for made.pipeline, source in enumerate(sources(params, seed)):
        keys += made.add_pipeline(source)
    return made.tasks, keys


def submit(client, params, seed):
    """Submit all pipelines; return the futures of the digests of their tables."""
    if params["form"] == "frames":
        tasks, keys = graph(params, seed)
        return client.get(tasks, keys, sync=False)
    digests = []
    for source in sources(params, seed):
        digests += pipeline_partitions.tables(source, params["partitions"])
    return client.compute(digests)


def finish(values, params):
    """Return the sizes of the tables; the digest covers every value in them."""
    lines = [
        f"{number // 2} {expedia.TABLES[number % 2]} {name} {rows} {value}"
        for number, table in enumerate(values)
        for name, rows, value in zip(table.index, table["rows"], table["hash"])
    ]
    kept, prepared = (sum(int(table["rows"].iloc[0]) for table in values[first::2]) for first in (0, 1))
    pipelines = "1 pipeline" if params["pipelines"] == 1 else f"{params['pipelines']} pipelines"
    return Result(
        result=f"{pipelines}: {prepared} test rows in {len(values[1])} columns, {kept} training rows",
        digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    )
