"""Let esched decide every placement of an unmodified Dask scheduler.

Use it with ``dask scheduler --preload esched_preload.py`` and the path of the
decision service's socket (``esched serve --socket PATH``) in the environment
variable ``ESCHED_SOCKET``. It works with Dask 2024.5 to 2026.7; when a hook it
needs is missing, the scheduler does not start and says which one.

The module mirrors the scheduler's state to the service as fire-and-forget
records, uses placements that the service pushed before they were needed, and
asks, with a deadline, when one is missing. Whatever goes wrong with the
service, Dask's own choice is used instead and counted as a fallback; no
exception of this module reaches Dask's event loop. The protocol is described
in wire.go in esched's sources.
"""
