"""Makes and checks files of taxi trips: ``python -m esched_workloads.taxi_data``.

``generate`` first writes trips that are made up: the columns, types and value ranges
are those of the published files, the distributions are plausible, nothing in
them is true. What a row group holds depends on the seed, the file and the
group alone, so any number of processes write the same.

``check`` reads files, whoever wrote them, and writes the note that makes a data
set complete: for each file its rows and totals, its SHA-256, and when it was last
changed.

Lines on standard output tell how many further rows each of the two has done.
"""

import argparse
import concurrent.futures
import datetime
import hashlib
import json
import multiprocessing
import os
import pathlib

import pyarrow
import pyarrow.compute
import pyarrow.parquet

from esched_workloads import taxi, taxi_trips

#: Rows of a row group: what a process holds at a time.
GROUP = 1 << 18


def tell(action, rows):
    """Print that so many further rows are done; the line stays whole beside those of others."""
    os.write(1, f"{action} {rows}\n".encode())


def first_days(count):
    """Return the first day of each file and the day after the last; of twelve, the months."""
    start = datetime.date(taxi.YEAR, 1, 1)
    if count == 12:
        days = [datetime.date(taxi.YEAR, month, 1) for month in range(1, 13)]
    else:
        days = [start + datetime.timedelta(days=365 * index // count) for index in range(count)]
    return [*days, datetime.date(taxi.YEAR + 1, 1, 1)]


def name(index, count):
    """Return the name of a file; of twelve, the published one."""
    if count == 12:
        return f"yellow_tripdata_{taxi.YEAR}-{index + 1:02d}.parquet"
    return f"yellow_tripdata_{taxi.YEAR}-{index + 1:03d}-of-{count:03d}.parquet"


def generate(job):
    """Write one file, unless it is there."""
    path = pathlib.Path(job["path"])
    if path.exists():
        tell("generate", job["rows"])
        return
    schema = taxi_trips.SCHEMAS[job["schema"]]
    part = path.with_suffix(".part")
    with pyarrow.parquet.ParquetWriter(part, schema, compression="snappy") as writer:
        for group, start in enumerate(range(0, job["rows"], GROUP)):
            rows = min(GROUP, job["rows"] - start)
            stream = taxi_trips.stream(job["seed"], job["index"], group)
            writer.write_table(taxi_trips.trips(stream, rows, job["days"], job["schema"]))
            tell("generate", rows)
    part.rename(path)


def opened(path):
    """Return an open Parquet file; ends the program with a sentence when it is none."""
    try:
        return pyarrow.parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid as problem:
        raise SystemExit(f"{path}: not a Parquet file: {problem}; remove it to get it again") from None


def facts(path):
    """Return a file's name, rows, size, schema and totals in hundredths.

    Ends the program with a sentence when it does not hold trips.
    """
    file = opened(path)
    names = set(file.schema_arrow.names)
    schema = next((kind for kind in taxi.SUMS if names >= {*taxi.SUMS[kind], *taxi.GROUPS[kind]}), None)
    if schema is None:
        raise SystemExit(f"{path}: not the columns of yellow taxis in {taxi.YEAR}: {sorted(names)}")
    totals = dict.fromkeys(taxi.SUMS[schema], 0)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=list(totals))
        for column in totals:
            exact = pyarrow.compute.round(pyarrow.compute.multiply(table[column].cast("float64"), 100))
            totals[column] += pyarrow.compute.sum(exact.cast("int64")).as_py() or 0
        tell("check", table.num_rows)
    return {
        "name": path.name,
        "rows": file.metadata.num_rows,
        "bytes": path.stat().st_size,
        "schema": schema,
        "totals": totals,
    }


def sealed(path):
    """Return what :func:`facts` does, and the checksum and time of change of a file."""
    modified = path.stat().st_mtime_ns
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return facts(path) | {"sha256": digest, "modified_ns": modified}


def spread(function, jobs, processes):
    """Return the results of a function for all jobs, in their order."""
    if processes <= 1:
        return [function(job) for job in jobs]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context) as pool:
        return list(pool.map(function, jobs))


def processes(asked, rows, files):
    """Return how many processes to use; a start takes as long as a million rows."""
    return min(asked or len(os.sched_getaffinity(0)), files, -(-rows // 2_000_000))


def shares(rows, count):
    """Cut rows into shares that differ by one at most."""
    return [rows * (index + 1) // count - rows * index // count for index in range(count)]


def main():
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="taxi_data", description=__doc__)
    parser.add_argument("action", choices=["generate", "check"])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=0, help="trips in all")
    parser.add_argument("--files", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schema", choices=sorted(taxi_trips.SCHEMAS), default="current")
    parser.add_argument("--processes", type=int, default=0, help="0: one for each core")
    arguments = parser.parse_args()
    directory, count = arguments.directory, arguments.files
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / name(index, count) for index in range(count)]
    if arguments.action == "generate":
        days = first_days(count)
        jobs = [
            {
                "path": str(paths[index]),
                "index": index,
                "rows": share,
                "days": (days[index], days[index + 1]),
                "seed": arguments.seed,
                "schema": arguments.schema,
            }
            for index, share in enumerate(shares(arguments.rows, count))
        ]
        spread(generate, jobs, processes(arguments.processes, arguments.rows, count))
        rows = arguments.rows
    else:
        paths = sorted(directory.glob("*.parquet"))[:count]
        rows = sum(opened(path).metadata.num_rows for path in paths)
    look = facts if arguments.action == "generate" else sealed
    known = spread(look, paths, processes(arguments.processes, rows, count))
    part = directory / (taxi.NOTE + ".part")
    part.write_text(json.dumps({"files": known}, indent=1))
    part.rename(directory / taxi.NOTE)


if __name__ == "__main__":
    main()
