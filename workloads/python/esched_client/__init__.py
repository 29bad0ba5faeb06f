"""The client side of a trial: runs workloads on a Dask cluster and measures them.

``python -m esched_client --scheduler ADDRESS`` answers requests, one JSON
object a line; see :mod:`esched_client.protocol`. A workload is a module:

``submit(client, params, seed)``
    Submits the work and returns its futures (one, or any nesting that
    ``client.gather`` understands). It must not wait for results.
``execute(client, params, seed)``
    Instead of ``submit``, where what is submitted depends on what is finished:
    submits, gathers, and returns the values and the seconds that submitting took.
``finish(values, params)``
    Turns the gathered values into a :class:`Result`. Not measured.
``prepare(client, params, seed)``
    Optional. What has to be there before, such as data. Not measured.

Functions that workers execute belong into an importable module. Time is
taken by the framework, never by the workload.
"""

from dataclasses import dataclass

__all__ = ["Result"]


@dataclass(frozen=True)
class Result:
    """What a trial computed.

    ``digest`` is a hash that is equal whenever the same parameters and seed
    were computed correctly; ``result`` is a short text for people.
    """

    result: str
    digest: str
