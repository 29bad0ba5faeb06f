"""Close the HTTP port of a Dask scheduler or worker as soon as it has started.

Dask serves facts, metrics and, on request, a dashboard over HTTP, to everybody
who can reach the port. A deployment of esched has no use for them.
"""


def dask_setup(server):
    """Stop listening; Dask calls this when the server has started."""
    server.http_server.stop()
