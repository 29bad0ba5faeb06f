"""The preparation of Expedia's data on Dask data frames.

Rows are read in partitions that cut no search. What is known of single rows and
searches is computed there. What needs all of a column (quartiles, the rows to
keep, averages) is gathered in one task each. Then the rows of both tables move
so that a hotel is in one partition: its features are made and joined there,
from its rows in the order of the table. So everything is equal to what whole
frames give, in every bit.
"""

from typing import NamedTuple

import dask
import dask.dataframe
import pandas

from esched_workloads import expedia, pipeline_digest
from esched_workloads import pipeline_stages as stages


def read_train(bounds, source):
    """Return a partition of the training table, graded and with its dates in parts."""
    first, last = bounds
    frame = stages.read(source["directory"], "train", first, last, *source["train"])
    return stages.handle_datetime(stages.create_relevance(frame))


def read_test(bounds, source):
    """Return a partition of the test table, with its dates in parts."""
    first, last = bounds
    return stages.handle_datetime(stages.read(source["directory"], "test", first, last, *source["test"]))


def clean(train, limits):
    """Remove outliers and count what is missing then."""
    return stages.count_missing(stages.within(train, limits))


def keep(train, last):
    """Keep rows up to the last one, with the spread of distances in their searches."""
    kept = stages.up_to(train, last)
    return kept.assign(spread=stages.distance_spread(kept))


def outcomes(train):
    """Return the columns whose averages are needed."""
    return train[["click_bool", "booking_bool"]]


def prepare(moved, overall):
    """Return the finished training rows of all hotels of a partition."""
    train = moved.sort_index()
    spread, train = train["spread"], train.drop(columns="spread")
    train = stages.merge_mean_positions(train, stages.compute_mean_positions(train))
    priors = (stages.compute_prior(train, name) for name in ("click_bool", "booking_bool"))
    train = stages.fill_priors(stages.combine_priors(train, *priors), overall)
    train = stages.previous_searches_train(train)
    train = stages.merge_booking_count(train, stages.booking_counts(train))
    return stages.merge_mean_distances(train, stages.mean_spread(spread, train["prop_id"]))


def hotels(train):
    """Return all features of the hotels of a partition, but those of single destinations."""
    first = train.drop_duplicates("prop_id").set_index("prop_id")[["mean_train_position", "mean_max_distance_diff"]]
    summed = train.groupby("prop_id")[stages.FEATURES].agg(["mean", "std"])
    summed.columns = ["_".join(names) for names in summed.columns]
    return pandas.concat([stages.prior_means(train), stages.previous_searches(train), first, summed], axis=1)


def join(test, train, overall):
    """Give the test rows of a partition the features of its hotels."""
    known = hotels(train)
    names = ["mean_train_position", "click_prior", "booking_prior", "previous_searches"]
    test = stages.fill_searches(stages.fill_priors(test.join(known[names], on="prop_id"), overall))
    test = stages.merge_booking_count(test, stages.booking_counts(train))
    return test.join(known.drop(columns=names), on="prop_id")


def quartiles(train):
    """Return the columns of which quartiles are needed."""
    return train[stages.SUSPECT]


def missing(train):
    """Return how much is missing in each row."""
    return train[["missing_count"]]


class Table(NamedTuple):
    """A Dask data frame, and a row of the kind that it has, which shows its columns."""

    frame: dask.dataframe.DataFrame
    shown: pandas.DataFrame

    def mapped(self, function, *others):
        """Apply a function to each partition, and to the others': the same one, or their only one."""
        shown = function(self.shown, *(other.shown for other in others))
        frame = self.frame.map_partitions(
            function, *(other.frame for other in others), meta=shown, enforce_metadata=False, align_dataframes=False
        )
        return Table(frame, shown)

    def gathered(self, function):
        """Apply a function to all rows, in order."""
        return Table(self.frame.repartition(npartitions=1), self.shown).mapped(function)

    def by_hotel(self):
        """Move the rows of each hotel into one partition, by tasks: each of them is placed."""
        count = self.frame.npartitions
        return Table(self.frame.shuffle("prop_id", npartitions=count, shuffle_method="tasks"), self.shown)


def opened(source, partitions, table, reader):
    """Return a table as it is read."""
    bounds = [stages.span(number, partitions, source[table][0]) for number in range(partitions)]
    shown = expedia.shown(table)
    shown = stages.handle_datetime(stages.create_relevance(shown) if table == "train" else shown)
    return Table(dask.dataframe.from_map(reader, bounds, source=source, meta=shown, enforce_metadata=False), shown)


def tables(source, partitions):
    """Return the digests of the finished training and test table; nothing is computed.

    source says what :func:`pipeline_stages.read` reads: the directory, and for
    each table the number of its parts, its rows, and the stream.
    """
    # There is no text in the tables: nothing has to become pyarrow's.
    with dask.config.set({"dataframe.convert-string": False}):
        train = opened(source, partitions, "train", read_train)
        test = opened(source, partitions, "test", read_test)
    limits = train.mapped(quartiles).gathered(stages.fences)
    cleaned = train.mapped(clean, limits)
    kept = cleaned.mapped(keep, cleaned.mapped(missing).gathered(stages.bar))
    overall = kept.mapped(outcomes).gathered(stages.averages)
    train = kept.by_hotel().mapped(prepare, overall)
    test = test.by_hotel().mapped(join, train, overall)
    digested = [table.mapped(pipeline_digest.digest).gathered(pipeline_digest.total) for table in (train, test)]
    return [table.frame for table in digested]
