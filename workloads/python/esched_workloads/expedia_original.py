"""Expedia's own files: CSV, converted to parts as a stream."""

import itertools
from pathlib import Path

import numpy
import pyarrow
import pyarrow.compute
import pyarrow.csv

from esched_workloads import expedia

#: Bytes of CSV that are parsed at a time; they bound the memory.
BLOCK = 16 << 20
#: How the files write what is missing.
MISSING = ["NULL", "", "nan", "NaN"]


def batches(path, table):
    """Yield the rows of a CSV file; refuse one with other columns."""
    schema = expedia.schema(table)
    read = pyarrow.csv.ReadOptions(block_size=BLOCK, use_threads=False)
    convert = pyarrow.csv.ConvertOptions(
        column_types=schema, include_columns=schema.names, null_values=MISSING, strings_can_be_null=True
    )
    try:
        with pyarrow.csv.open_csv(path, read_options=read, convert_options=convert) as reader:
            for batch in reader:
                yield pyarrow.Table.from_batches([batch])
    except (pyarrow.ArrowInvalid, pyarrow.ArrowKeyError) as error:
        raise SystemExit(f"{path} is not Expedia's {table} table: {error}") from None


def parts(path, table, rows):
    """Yield tables of at least so many rows (the last may have fewer) that cut no search."""
    held, highest = None, None
    for batch in batches(path, table):
        identity = batch["srch_id"].to_numpy()
        for name in batch.schema.names:
            if batch[name].null_count and batch.schema.field(name).type == expedia.WHOLE:
                raise SystemExit(f"{path}: column {name} has missing values")
        if len(identity) and (numpy.any(numpy.diff(identity) < 0) or highest is not None and identity[0] < highest):
            raise SystemExit(f"{path}: the rows of a search are not together: srch_id must not fall")
        highest = identity[-1] if len(identity) else highest
        held = batch if held is None else pyarrow.concat_tables([held, batch])
        while (end := cut(held, rows)) is not None:
            yield held.slice(0, end).combine_chunks()
            held = held.slice(end)
    if held is not None and len(held):
        yield held.combine_chunks()


def cut(held, rows):
    """Return the first row from the given one on that begins a search; None when that is not known yet."""
    if len(held) <= rows:
        return None
    identity = held["srch_id"].slice(rows - 1).to_numpy()
    begins = numpy.flatnonzero(numpy.diff(identity))
    return rows + int(begins[0]) if len(begins) else None


def run(options):
    """Convert both files; print after each part the rows so far, and 0 for a total that is not known."""
    done, made = 0, {}
    for table, source in (("train", options.train), ("test", options.test)):
        number = 0
        for number, part in zip(itertools.count(1), parts(source, table, options.part_rows)):
            expedia.write(options.directory, table, number - 1, part)
            done += len(part)
            print(done, 0, flush=True)
        if number == 0:
            raise SystemExit(f"{source} has no rows")
        made[table] = number
        for left in Path(options.directory, table).glob("part-*.parquet"):
            if int(left.stem.removeprefix("part-")) >= number:  # of a conversion with smaller parts
                left.unlink()
    expedia.seal(options.directory, made)
