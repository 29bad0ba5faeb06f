"""Requests and responses: one JSON object a line, answered in order.

A request is ``{"id": ..., "op": ..., ...}``; its response has the same id and
the status ``ok`` or ``failed``, the latter with ``error`` (one line) and
``traceback``.
"""

import asyncio
import json
import os
import traceback


class Channel:
    """Lines of JSON over two file descriptors that nobody else knows."""

    def __init__(self, source, sink):
        self._source = os.fdopen(source, "rb")
        self._sink = sink

    @classmethod
    def take_standard_streams(cls):
        """Keep standard input and output for the protocol alone.

        File descriptor 0 becomes the null device and 1 a copy of 2, so that
        whatever is printed later, even by C code, goes to the log.
        """
        source, sink = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        return cls(source, sink)

    def read(self):
        """Return the next request, or None at the end of input."""
        line = self._source.readline()
        return json.loads(line) if line.strip() else None

    def write(self, message):
        """Write one message as one line."""
        line = memoryview(json.dumps(message, allow_nan=False).encode() + b"\n")
        while line:
            line = line[os.write(self._sink, line) :]


def serve(channel, operations):
    """Answer requests until the input ends or a request says quit."""
    while (request := channel.read()) is not None:
        response = {"id": request.get("id")}
        op = request.get("op")
        if op == "quit":
            channel.write(response | {"status": "ok"})
            return
        try:
            if op not in operations:
                raise ValueError(f"unknown operation {op!r}")
            response |= {"status": "ok"} | operations[op](request)
            channel.write(response)
        except (Exception, asyncio.CancelledError) as error:
            channel.write({"id": request.get("id")} | failure(error))
            # The client keeps the exception of a failed task, its traceback keeps
            # the frames that hold the task's future: break that circle, or the
            # scheduler never forgets the task.
            traceback.clear_frames(error.__traceback__)


def failure(error):
    """Describe an exception as the fields of a response."""
    if hasattr(error, "log"):  # of a program in a process of its own: ours tells nobody anything
        return {"status": "failed", "error": str(error)[:2000], "traceback": error.log, "late": error.late}
    reason = traceback.format_exception_only(error)[-1].strip()
    return {
        "status": "failed",
        "error": " ".join(reason.split())[:2000],
        "traceback": "".join(traceback.format_exception(error))[-20000:],
    }
