"""A workload of one's own for esched: how many primes are there below a limit?

``esched run examples/primes.toml`` measures it under Dask's own scheduler and
under esched's policies. To try it without esched, on a Dask cluster in this
process: ``python examples/prime_count.py``.
"""


def primes(first, last):
    """Count the primes from first up to, without, last."""
    return sum(n > 1 and all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(first, last))


def run(client, params):
    """Count in parts; what is returned must be the same whoever schedules."""
    limit, parts = params["limit"], params["parts"]
    bounds = [limit * i // parts for i in range(parts + 1)]
    counts = client.map(primes, bounds[:-1], bounds[1:])
    return {"primes": client.submit(sum, counts).result()}


if __name__ == "__main__":
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        print(run(client, {"limit": 100_000, "parts": 20}))
