"""What Dask must have for the preload to steer it, and Dask's own versions of it."""

from __future__ import annotations

import inspect

import dask
import distributed.scheduler as ds

# What the module replaces or relies on: attribute -> parameters it must take.
HOOKS = {
    "_transition": ("key", "finish", "stimulus_id"),
    "_transitions": ("recommendations", "client_msgs", "worker_msgs", "stimulus_id"),
    "transitions": ("recommendations", "stimulus_id"),
    "decide_worker_non_rootish": ("ts",),
    "is_rootish": ("ts",),
    "valid_workers": ("ts",),
    "check_idle_saturated": ("ws", "occ"),
    "stimulus_queue_slots_maybe_opened": ("stimulus_id",),
    "handle_task_finished": ("key", "worker", "stimulus_id"),
    "stimulus_task_finished": ("key", "worker", "stimulus_id", "run_id"),
    "add_replica": ("ts", "ws"),
    "remove_replica": ("ts", "ws"),
    "remove_worker": ("address", "stimulus_id"),
    "handle_worker_status_change": ("status", "worker", "stimulus_id"),
    "handle_long_running": ("key", "worker"),
    "handle_stream": ("comm", "extra"),
    "send_all": ("client_msgs", "worker_msgs"),
    "add_plugin": ("plugin",),
    "remove_plugin": (),
    "_add_to_processing": ("ts", "ws", "stimulus_id"),
}
TABLE = [("waiting", "processing"), ("waiting", "queued"), ("queued", "processing")]


def check() -> None:
    """Raise RuntimeError when this version of Dask lacks a hook."""
    missing = []
    for name, parameters in HOOKS.items():
        hook = getattr(ds.Scheduler, name, None)
        if hook is None or not set(parameters) <= set(inspect.signature(hook).parameters):
            missing.append(f"Scheduler.{name}({', '.join(parameters)})")
    missing += [f"transition {a} -> {b}" for a, b in TABLE if (a, b) not in ds.SchedulerState._TRANSITIONS_TABLE]
    if missing:
        version = ds.distributed.__version__ if hasattr(ds, "distributed") else dask.__version__
        raise RuntimeError(f"esched cannot steer Dask {version}: it lacks {'; '.join(missing)}")


if not hasattr(ds, "_esched_original"):  # --preload FILE executes this module twice
    check()
    ds._esched_original = {name: getattr(ds.Scheduler, name) for name in HOOKS}
    ds._esched_original["table"] = dict(ds.SchedulerState._TRANSITIONS_TABLE)
ORIGINAL = ds._esched_original
