"""The data set ``expedia``: hotels shown to people who searched for one.

It has the schema of the files of Kaggle's competition "Personalize Expedia
Hotel Searches" (2013): two tables, one row for each hotel that a search showed.
``test`` lacks the columns that tell what happened then.

A data set is a directory of Parquet files, the *parts* of either table, and a
file ``manifest.json``, which is written last. The rows of a search are in one
part, so that whatever needs them together can work on parts alone.

``python -m esched_workloads.expedia generate|convert`` makes one and prints how
far it is, a line ``ROWS OF`` for each part.
"""

import argparse
import json
import os
from pathlib import Path

import numpy
import pandas
import pyarrow
import pyarrow.parquet

#: Version of the manifest.
SCHEMA = 1
TABLES = ("train", "test")
MANIFEST = "manifest.json"

WHOLE, REAL = pyarrow.int64(), pyarrow.float64()
COMPETITORS = [
    (f"comp{competitor}_{what}", REAL) for competitor in range(1, 9) for what in ("rate", "inv", "rate_percent_diff")
]
#: Columns of the training table and their types, in its order. Numbers that may
#: be missing are floats.
TRAIN = [
    ("srch_id", WHOLE),
    ("date_time", pyarrow.timestamp("ms")),
    ("site_id", WHOLE),
    ("visitor_location_country_id", WHOLE),
    ("visitor_hist_starrating", REAL),
    ("visitor_hist_adr_usd", REAL),
    ("prop_country_id", WHOLE),
    ("prop_id", WHOLE),
    ("prop_starrating", WHOLE),
    ("prop_review_score", REAL),
    ("prop_brand_bool", WHOLE),
    ("prop_location_score1", REAL),
    ("prop_location_score2", REAL),
    ("prop_log_historical_price", REAL),
    ("position", WHOLE),
    ("price_usd", REAL),
    ("promotion_flag", WHOLE),
    ("srch_destination_id", WHOLE),
    ("srch_length_of_stay", WHOLE),
    ("srch_booking_window", WHOLE),
    ("srch_adults_count", WHOLE),
    ("srch_children_count", WHOLE),
    ("srch_room_count", WHOLE),
    ("srch_saturday_night_bool", WHOLE),
    ("srch_query_affinity_score", REAL),
    ("orig_destination_distance", REAL),
    ("random_bool", WHOLE),
    *COMPETITORS,
    ("click_bool", WHOLE),
    ("gross_bookings_usd", REAL),
    ("booking_bool", WHOLE),
]
#: Columns that the test table lacks.
OUTCOME = ("position", "click_bool", "gross_bookings_usd", "booking_bool")


def schema(table):
    """Return the columns of a table, as pyarrow has them."""
    return pyarrow.schema([field for field in TRAIN if table == "train" or field[0] not in OUTCOME])


def path(directory, table, part):
    """Return where a part is."""
    return Path(directory, table, f"part-{part:05}.parquet")


def write(directory, table, part, content):
    """Write a part, a pyarrow table, whole or not at all."""
    final = path(directory, table, part)
    final.parent.mkdir(parents=True, exist_ok=True)
    unfinished = final.with_name(f".{final.name}.{os.getpid()}")
    try:
        pyarrow.parquet.write_table(content, unfinished, compression="zstd", write_statistics=False)
        unfinished.replace(final)
    finally:
        unfinished.unlink(missing_ok=True)


def read(directory, table, part):
    """Return a part as a pandas frame, on the calling thread alone."""
    with pyarrow.parquet.ParquetFile(path(directory, table, part)) as file:
        return file.read(use_threads=False).to_pandas(use_threads=False)


def count(directory, table, part):
    """Return the rows of a part, or None when it is not there or damaged."""
    try:
        return pyarrow.parquet.read_metadata(path(directory, table, part)).num_rows
    except (OSError, pyarrow.ArrowInvalid):
        return None


def shown(table):
    """Return a frame with the columns of a table and one row of no meaning."""
    columns = {field.name: numpy.ones(1, field.type.to_pandas_dtype()) for field in schema(table)}
    return pandas.DataFrame(columns)


def manifest(directory):
    """Return how many rows each part of each table has: {"train": [...], "test": [...]}."""
    noted = json.loads(Path(directory, MANIFEST).read_text(encoding="utf-8"))
    if noted["schema"] != SCHEMA:
        raise ValueError(f"{directory}: manifest of version {noted['schema']}, not {SCHEMA}")
    return {table: [part["rows"] for part in noted[table]] for table in TABLES}


def seal(directory, parts):
    """Write the manifest: the data set is complete. parts is the number of each table's."""
    noted = {"schema": SCHEMA}
    for table in TABLES:
        noted[table] = [
            {"rows": count(directory, table, part), "bytes": path(directory, table, part).stat().st_size}
            for part in range(parts[table])
        ]
    final = Path(directory, MANIFEST)
    unfinished = final.with_name(f".{MANIFEST}.{os.getpid()}")
    unfinished.write_text(json.dumps(noted) + "\n", encoding="utf-8")
    unfinished.replace(final)


def table_of(columns, table):
    """Return columns (numpy arrays, NaN for what is missing) as a pyarrow table."""
    return pyarrow.Table.from_pandas(pandas.DataFrame(columns), schema(table), preserve_index=False)


def main():
    """Make a data set as the arguments say."""
    from esched_workloads import expedia_generator, expedia_original

    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    generate = commands.add_parser("generate")
    generate.add_argument("directory")
    generate.add_argument("--rows", type=int, required=True)
    generate.add_argument("--part-rows", type=int, required=True)
    generate.add_argument("--seed", type=int, required=True)
    generate.add_argument("--processes", type=int, help="default: as many as cores, or one for few rows")
    generate.set_defaults(run=expedia_generator.run)
    convert = commands.add_parser("convert")
    convert.add_argument("directory")
    convert.add_argument("--train", required=True)
    convert.add_argument("--test", required=True)
    convert.add_argument("--part-rows", type=int, required=True)
    convert.set_defaults(run=expedia_original.run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
