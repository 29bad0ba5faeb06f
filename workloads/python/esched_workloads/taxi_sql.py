"""Taxi SQL: many queries of the trips of a year at the same time, by dask-sql.

Queries are planned at the client before the time is taken. A ``flat`` one is
then optimized and turned into a graph there, and submitted alone, so that a
scheduler decides about each of its tasks. A ``nested`` one is a task whose body
does the same on a worker, and waits there for the result. ``prototype`` is
nested as the lab report's prototype had it.

What plans are made of computes its properties when they are first asked for,
in Python up to 3.11 under locks that all objects of a class share. Two threads
of a process that take such locks in different orders wait for each other for
ever, and Dask unpickles in its event loop what a thread may be working on. So
plans reach no event loop here: schedulers get graphs, workers get bytes, and
one thread of a worker at a time unpacks them. The form ``prototype`` does none
of this, and hangs; docs/deadlock.md tells more.
"""

import hashlib
import threading
import time

import cloudpickle
import dask.dataframe
from distributed import as_completed, get_client

from esched_client import Result
from esched_workloads import sql, taxi

#: Bytes of Parquet files that a partition has at most; larger files are cut
#: between their row groups.
BLOCK = "64MB"

#: Held by the thread of a worker that works on a plan.
PLANNING = threading.Lock()


def prepare(client, params, seed):
    """Plan the queries."""
    paths = taxi.files(params["data"], params["partitions"])
    context = sql.context()
    context.create_table("trips", dask.dataframe.read_parquet(paths, blocksize=BLOCK))
    # Of a table in a single file its path would help to plan joins; a list of
    # them is more than the planner of some versions takes.
    context.schema[context.schema_name].filepaths.clear()
    chosen = taxi.queries(params["schema"])[: params["queries"]]
    params["plans"] = [context.sql(taxi.statement(sums, groups)) for sums, groups in chosen]


def execute(client, params, seed):
    """Run the queries, at most ``admission`` of them at once; return their tables.

    The second value is the time that submitting took.
    """
    plans = params["plans"]
    limit = params["admission"] or len(plans)
    tables, spent = [None] * len(plans), 0.0
    running, waiting = {}, iter(enumerate(plans))
    arrivals = as_completed(with_results=True, raise_errors=True)

    def admit(count):
        nonlocal spent
        start = time.perf_counter()
        for _ in range(count):
            index, plan = next(waiting, (None, None))
            if plan is None:
                break
            future = begin(client, plan, params["form"])
            running[future.key] = index
            arrivals.add(future)
        spent += time.perf_counter() - start

    admit(limit)
    for future, table in arrivals:
        tables[running.pop(future.key)] = table
        future.release()
        admit(1)
    return tables, spent


def begin(client, plan, form):
    """Submit a query; return the future of its table."""
    if form == "flat":
        tasks, key = graph(plan)
        return client.get(tasks, [key], sync=False)[0]
    if form == "nested":
        return client.submit(nested, cloudpickle.dumps(plan), pure=False)
    return client.submit(plan.compute, pure=False)


def graph(plan):
    """Return the tasks of a plan and the key of its only partition, as Dask's client makes them."""
    lowered = plan.optimize(fuse=False)
    (key,) = lowered.__dask_keys__()
    return dict(lowered.__dask_graph__()), key


def nested(packed):
    """Execute a query from within a task; runs on a worker."""
    with PLANNING:
        tasks, key = graph(cloudpickle.loads(packed))
    return get_client().get(tasks, key)


def finish(values, params):
    """Digest all tables; compare the totals of each column with those of the data."""
    known = taxi.totals(params["data"], params["partitions"])
    digest = hashlib.sha256()
    groups = 0
    for number, ((sums, _), table) in enumerate(zip(taxi.queries(params["schema"]), values)):
        columns = [taxi.hundredths(table.iloc[:, index]) for index in range(len(sums))]
        for name, column in zip(sums, columns):
            if sum(column) != known[name]:
                wrong = f"query {number}: {name} adds up to {sum(column) / 100}, not {known[name] / 100}"
                return Result(result=wrong, digest="wrong")
        rows = sorted(zip(*columns))
        groups += len(rows)
        digest.update(f"{number} {rows}\n".encode())
    return Result(
        result=f"{len(values)} queries, {groups} groups, all totals right",
        digest=digest.hexdigest(),
    )
