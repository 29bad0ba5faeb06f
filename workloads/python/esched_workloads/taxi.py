"""Trips of yellow taxis in New York in 2014: their columns, and the lab report's 280 queries.

There are two schemas. ``2014`` has the 18 columns of the files that were
published then, ``current`` the 19 of the files published now.
"""

import itertools
import json
import pathlib

YEAR = 2014
#: Written beside the files of a complete data set: their rows and totals.
NOTE = "_trips.json"

#: Columns that a query adds up and groups by, four and three of them at a time,
#: in the order of the prototype that the lab report tells of. The first two of
#: the schema of 2014 that differ are the same charge under its former name, and
#: the rate code, where there was no airport fee yet.
SUMS = {
    "current": (
        "passenger_count",
        "trip_distance",
        "fare_amount",
        "extra",
        "mta_tax",
        "tip_amount",
        "tolls_amount",
        "total_amount",
    ),
    "2014": (
        "passenger_count",
        "trip_distance",
        "fare_amount",
        "surcharge",
        "mta_tax",
        "tip_amount",
        "tolls_amount",
        "total_amount",
    ),
}
GROUPS = {
    "current": ("store_and_fwd_flag", "payment_type", "passenger_count", "airport_fee"),
    "2014": ("store_and_fwd_flag", "payment_type", "passenger_count", "rate_code"),
}


def queries(schema):
    """Return the 280 queries as pairs: columns to add up, columns to group by."""
    return list(
        itertools.product(
            itertools.combinations(SUMS[schema], 4), itertools.combinations(GROUPS[schema], 3)
        )
    )


def statement(sums, groups, table="trips"):
    """Return a query as SQL."""
    added = ", ".join(f"SUM({column})" for column in sums)
    return f"SELECT {added} FROM {table} GROUP BY {', '.join(groups)}"


def files(directory, count):
    """Return the paths of the first files of a data set."""
    paths = sorted(pathlib.Path(directory).glob("*.parquet"))
    if len(paths) < count:
        raise FileNotFoundError(f"{directory}: {len(paths)} files of trips, not {count}")
    return [str(path) for path in paths[:count]]


def totals(directory, count):
    """Return what the first files of a data set sum up to, by column, in hundredths."""
    note = json.loads(pathlib.Path(directory, NOTE).read_text())
    added = {}
    for file in note["files"][:count]:
        for column, value in file["totals"].items():
            added[column] = added.get(column, 0) + value
    return added


def hundredths(values):
    """Return numbers as whole hundredths: what is charged is in cents.

    Sums of floats depend on the order of additions, by far less than a cent.
    """
    return [int(value) for value in (values.astype("float64") * 100).round().tolist()]
