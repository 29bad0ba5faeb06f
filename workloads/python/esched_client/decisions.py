"""Summaries of decision latencies."""

import numpy

BUCKETS_PER_DECADE = 8


def summarise(latency_ns, asked_ns=b""):
    """Return quantiles and a histogram of latencies, in microseconds.

    ``latency_ns`` is the bytes of little-endian 32-bit nanoseconds, one for
    each decision; ``asked_ns`` those of the blocking questions, which are
    latencies of decisions too, but for questions that stood for several. The
    quantile q of n values is the smallest with at least q*n values not above
    it (nearest rank). Buckets are (previous bound, le_us] with bounds
    10**(k/8); empty ones are left out, values of 0 are in that of 0.1.
    ``ask_s`` is the sum of the questions' latencies and ``hit_s`` that of the
    decisions that needed none, in seconds.
    """
    micros, asked = microseconds(latency_ns), microseconds(asked_ns)
    if len(micros) == 0:
        return {}
    bounds = numpy.array([10 ** (k / BUCKETS_PER_DECADE) for k in range(-8, 49)])
    counts = numpy.bincount(numpy.searchsorted(bounds, micros), minlength=len(bounds))
    histogram = [
        {"le_us": float(f"{bound:.6g}"), "count": int(count)}
        for bound, count in zip(bounds, counts)
        if count
    ]
    hits = without(micros, asked)
    return {
        "decision_us": quantiles(micros),
        "decision_hist": histogram,
        "ask_us": quantiles(asked),
        "hit_us": quantiles(hits),
        "ask_s": float(asked.sum()) / 1e6,
        "hit_s": float(hits.sum()) / 1e6,
    }


def quantiles(micros):
    """Return the quantiles of sorted latencies, or None without any."""
    n = len(micros)
    if n == 0:
        return None
    found = {f"p{percent}": float(micros[-(-percent * n // 100) - 1]) for percent in (50, 95, 99)}
    return found | {"max": float(micros[-1])}


def without(values, taken):
    """Return sorted values without one of each that were taken, where there."""
    left = numpy.searchsorted(values, taken) + numpy.arange(len(taken))
    left -= numpy.searchsorted(taken, taken)  # the k-th of equals takes the k-th
    inside = left < len(values)
    left = left[inside]
    return numpy.delete(values, left[values[left] == taken[inside]])


def microseconds(latency_ns):
    """Return latencies in microseconds, sorted."""
    return numpy.sort(numpy.frombuffer(latency_ns, dtype="<u4")) / 1000.0
