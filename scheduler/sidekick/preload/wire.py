"""The records of the protocol, which wire.go describes, and their layouts."""

from __future__ import annotations

import struct

VERSION = 2  # of the protocol
OWN_WINDOW = -1.0  # the window that the service was started with

# Records to the service.
HELLO, WORKER, GONE, PAUSED, RESUMED, METRICS, GRAPH, QUEUED, PLACED, FINISHED = range(1, 11)
ERRED, RELEASED, FORGOTTEN, SECEDED, REPLICA, NO_REPLICA, ASK, SYNC, STARVING, POLICY = range(11, 21)
# Records from the service.
HINT, NEXT, SLOTS, ANSWER, END, ANEW = range(1, 7)

ROOT, CONSTRAINED = 1, 2  # flags of a task

REPLY = struct.Struct("<BBHI")
R_HELLO = struct.Struct("<BId").pack
R_WORKER = struct.Struct("<BHHQ").pack
R_MATE = struct.Struct("<BH").pack
R_METRICS = struct.Struct("<BHQf").pack
R_GRAPH = struct.Struct("<BI").pack
R_NODE = struct.Struct("<IIifII").pack
R_TASK = struct.Struct("<BI").pack
R_PLACED = struct.Struct("<BIH").pack
R_FINISHED = struct.Struct("<BIHQI").pack
R_REPLICA = struct.Struct("<BIHQ").pack
R_ASK = struct.Struct("<BIIH").pack
R_POLICY = struct.Struct("<BIQfB").pack
R_LENGTH = struct.Struct("<I").pack_into

HEAD = b"\0\0\0\0"  # room for the frame's length
