"""Prints what the taxi queries of a directory's files must give, by DuckDB.

Arguments: directory, schema, number of queries.
"""

import hashlib
import sys

import duckdb

from esched_workloads import taxi


def main(directory, schema, count):
    """Run the queries one after the other."""
    database = duckdb.connect()
    database.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{directory}/*.parquet')")
    digest, groups = hashlib.sha256(), 0
    for number, (sums, keys) in enumerate(taxi.queries(schema)[: int(count)]):
        rows = database.execute(taxi.statement(sums, keys)).fetchall()
        exact = sorted(tuple(round(value * 100) for value in row) for row in rows)
        groups += len(exact)
        digest.update(f"{number} {exact}\n".encode())
    print(f"{count} queries, {groups} groups, all totals right {digest.hexdigest()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
