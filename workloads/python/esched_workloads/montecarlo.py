"""Monte Carlo: pi from random points in the unit square.

Chunks of points are counted independently, then added up in a tree. Each
chunk draws from a stream of its own, made from the seed and the chunk's
index, so the count is the same wherever and in whatever order chunks run.
"""

import hashlib

import numpy

from esched_client import Result

#: Points drawn at a time. It bounds the memory of large chunks, and is part of
#: the definition of the result: another value gives other points.
BLOCK = 1 << 16
#: Counts that one task of the tree adds up.
FAN_IN = 16


def count(seed, index, points):
    """Return how many points of a chunk lie in the quarter circle."""
    stream = numpy.random.Generator(
        numpy.random.PCG64(numpy.random.SeedSequence(seed, spawn_key=(index,)))
    )
    inside = 0
    buffer = numpy.empty((2, min(points, BLOCK)))
    while points > 0:
        x, y = buffer[:, : min(points, BLOCK)]
        stream.random(out=x)
        stream.random(out=y)
        x *= x
        y *= y
        x += y
        inside += int(numpy.count_nonzero(x <= 1.0))
        points -= len(x)
    return inside


def add(counts):
    """Add up counts, exactly."""
    return sum(counts)


def graph(params, seed):
    """Return the task graph and the key of its result."""
    total, chunk = params["simulations"], params["chunk"]
    label = hashlib.md5(f"{total} {chunk} {seed}".encode(), usedforsecurity=False).hexdigest()
    tasks, level = {}, []
    for index in range(-(-total // chunk)):
        key = ("count-" + label, index)
        tasks[key] = (count, seed, index, min(chunk, total - index * chunk))
        level.append(key)
    depth = 0
    while len(level) > 1:
        above = []
        for start in range(0, len(level), FAN_IN):
            key = ("add-" + label, depth, start // FAN_IN)
            tasks[key] = (add, level[start : start + FAN_IN])
            above.append(key)
        level, depth = above, depth + 1
    return tasks, level[0]


def submit(client, params, seed):
    """Submit all chunks and their sum; return the future of the sum."""
    tasks, key = graph(params, seed)
    return client.get(tasks, [key], sync=False)


def finish(values, params):
    """Turn the count into pi; the digest covers the exact count."""
    total, inside = params["simulations"], values[0]
    return Result(
        result=f"pi = {4 * inside / total:.6f} ({inside}/{total})",
        digest=hashlib.sha256(f"{inside}/{total}".encode()).hexdigest(),
    )
