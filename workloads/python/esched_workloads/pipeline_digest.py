"""Hashes of tables that depend on no order of rows, so that parts can be added up."""

import numpy
import pandas


def mixed(bits):
    """Return 64-bit numbers with all bits mixed, as the generator SplitMix64 does."""
    bits = bits + numpy.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> numpy.uint64(31))


def digest(frame):
    """Return rows and hash of each column of a part of a table, as one row a column.

    A hash is the sum over all rows of what mixes value and number of the row.
    Values are compared as floating-point numbers, in every bit.
    """
    rows = mixed(frame.index.to_numpy("uint64"))
    hashes = numpy.zeros(frame.shape[1], "uint64")
    for number, name in enumerate(frame.columns):
        values = frame[name].to_numpy("float64", na_value=numpy.nan) + 0.0  # there is no -0
        values[numpy.isnan(values)] = numpy.nan  # the same one for all
        hashes[number] = mixed(values.view("uint64") ^ rows).sum(dtype="uint64")
    return pandas.DataFrame(
        {"rows": numpy.full(len(hashes), len(frame), "int64"), "hash": hashes}, index=pandas.Index(frame.columns)
    )


def total(parts):
    """Add up the digests of all parts of a table, which follow one another."""
    columns = parts.index[: parts.index.nunique()]
    shape = (-1, len(columns))
    sums = {name: parts[name].to_numpy().reshape(shape).sum(axis=0) for name in ("rows", "hash")}
    return pandas.DataFrame(sums, index=columns)
