"""The preparation of Expedia's data once more, in plain pandas, and what differs from it.

``python -m plain_pipeline DIRECTORY ROWS PARTITIONS`` computes both tables of a
pipeline in one function without stages, indexes, or Dask, and compares them
with those of the workload's two forms. It also holds that no stage changes its
arguments, and prints the digest of both forms.
"""

import sys

import dask
import numpy
import pandas

from esched_workloads import expedia, pipeline, pipeline_digest, pipeline_partitions

SEED = 7


def draw(directory, table, rows):
    """Return the rows that pipeline 0 draws."""
    counts = expedia.manifest(directory)[table]
    drawn, done = [], 0
    for part in range(len(counts)):
        until = (part + 1) * rows // len(counts)
        key = (0, ["train", "test"].index(table), part)
        chance = numpy.random.Generator(numpy.random.PCG64(numpy.random.SeedSequence(SEED, spawn_key=key)))
        place = f"{directory}/{table}/part-{part:05}.parquet"
        drawn.append(pandas.read_parquet(place).iloc[chance.integers(0, counts[part], until - done)])
        done = until
    table = pandas.concat(drawn, ignore_index=True)
    table["row"] = range(rows)
    return table


def prepare(train, test):
    """Return the finished tables, with a column row."""
    train["relevance"] = numpy.select([train["booking_bool"] == 1, train["click_bool"] == 1], [2, 1], 0)
    for table in (train, test):
        table["year"], table["month"] = table["date_time"].dt.year, table["date_time"].dt.month
        table["day"] = table["date_time"].dt.day
        del table["date_time"]
    for name in ["price_usd"] + [f"comp{i}_rate_percent_diff" for i in range(1, 9)]:
        q1, q3 = numpy.nanquantile(train[name], [0.25, 0.75])
        train.loc[(train[name] < q1 - 3 * (q3 - q1)) | (train[name] > q3 + 3 * (q3 - q1)), name] = numpy.nan
    train["missing_count"] = train.drop(columns="row").isna().to_numpy().sum(axis=1)
    train = train.sort_values(["missing_count", "row"]).head(int(0.75 * len(train))).sort_values("row")

    ranked = (
        train.query("random_bool == 0").groupby("prop_id", as_index=False).agg(mean_train_position=("position", "mean"))
    )
    train, test = (table.merge(ranked, on="prop_id", how="left") for table in (train, test))
    hotels = train.groupby("prop_id", as_index=False).agg(
        n=("prop_id", "size"), clicks=("click_bool", "sum"), bookings=("booking_bool", "sum")
    )
    train, test = (table.merge(hotels, on="prop_id", how="left") for table in (train, test))
    for prior, column, count in (
        ("click_prior", "click_bool", "clicks"),
        ("booking_prior", "booking_bool", "bookings"),
    ):
        overall = train[column].sum() / len(train)
        alone = train["n"] == 1
        train[prior] = numpy.where(alone, overall, (train[count] - train[column]) / (train["n"] - 1).mask(alone))
        test[prior] = (test[count] / test["n"]).fillna(overall)
    train["previous_searches"] = train["n"] - 1
    test["previous_searches"] = (test["n"] - 1).fillna(0)
    train, test = (table.drop(columns=["n", "clicks", "bookings"]) for table in (train, test))
    places = ["prop_id", "srch_destination_id"]
    booked = train.groupby(places, as_index=False).agg(booking_count=("booking_bool", "sum"))
    train, test = (table.merge(booked, on=places, how="left") for table in (train, test))
    spread = train.groupby("srch_id")["orig_destination_distance"].agg(["min", "max"])
    train["spread"] = train["srch_id"].map(spread["max"] - spread["min"])
    far = train.groupby("prop_id", as_index=False).agg(mean_max_distance_diff=("spread", "mean"))
    train, test = (table.merge(far, on="prop_id", how="left") for table in (train, test))
    for name in pipeline.stages.FEATURES:
        groups = {hotel: values.dropna() for hotel, values in train.groupby("prop_id")[name]}
        test[f"{name}_mean"] = test["prop_id"].map({hotel: values.mean() for hotel, values in groups.items()})
        test[f"{name}_std"] = test["prop_id"].map(
            {hotel: values.std(ddof=1) for hotel, values in groups.items() if len(values) > 1}
        )
    return train.drop(columns="spread"), test


def same(have, want):
    """Raise when a finished table is not the plain one; only sums may be rounded otherwise."""
    want = want.set_index("row")[have.columns]
    pandas.testing.assert_frame_equal(
        have.sort_index(), want.sort_index(), check_dtype=False, check_names=False, rtol=1e-9, atol=1e-9
    )


def executed(tasks, key, done):
    """Return the value of a task, executed with what it needs; raise when one changes its arguments."""
    if key not in done:
        function, *given = tasks[key]
        values = [executed(tasks, x, done) if isinstance(x, tuple) and x in tasks else x for x in given]
        before = [known(value) for value in values]
        done[key] = function(*values)
        if [known(value) for value in values] != before:
            raise AssertionError(f"{key[0]} changes what it is given")
    return done[key]


def known(value):
    """Return what a value is recognised by."""
    if isinstance(value, (pandas.DataFrame, pandas.Series)):
        return pandas.util.hash_pandas_object(value).sum(), list(pandas.DataFrame(value).columns)
    return value


def digest(values):
    """Return the digest of a trial."""
    return pipeline.finish(values, {"pipelines": 1}).digest


def main():
    """Compare; print the digest."""
    directory, rows, partitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    params = {"pipelines": 1, "rows": rows, "partitions": partitions, "data": directory, "form": "frames"}
    plain = prepare(draw(directory, "train", rows), draw(directory, "test", rows))
    tasks, keys = pipeline.graph(params, SEED)
    done = {}
    frames = [executed(tasks, key, done) for key in keys]
    for key, want in zip(keys, plain):
        same(done[tasks[key][1]], want)
    (source,) = pipeline.sources(params, SEED)
    parts = dask.compute(*pipeline_partitions.tables(source, partitions), scheduler="sync")
    for one, other in zip(frames, parts):
        pandas.testing.assert_frame_equal(one, other)
    if len(tasks) != 55 or digest(frames) != digest(parts):
        raise AssertionError(f"{len(tasks)} tasks, digests {digest(frames)} and {digest(parts)}")
    table = done[tasks[keys[0]][1]]
    table.loc[table["price_usd"].last_valid_index(), "price_usd"] += 1e-9
    if pipeline_digest.digest(table).equals(frames[0]):
        raise AssertionError("the digest does not see a changed value")
    print(digest(frames))


if __name__ == "__main__":
    main()
