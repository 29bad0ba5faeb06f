"""Trials: run a workload, measure it, and leave the cluster as it was."""

import gc
import importlib
import time

from esched_client import Result, counters, decisions, memory, program, timeline

#: Seconds until the scheduler must have forgotten the tasks of a trial.
FORGET = 60.0


def operations(client):
    """Return the functions that answer requests, by operation."""
    return {
        "trial": lambda request: run(client, request),
        "wait": lambda request: wait(client, request),
    }


def wait(client, request):
    """Wait until a number of workers has registered."""
    client.wait_for_workers(request["workers"], timeout=request["timeout_s"])
    return {"workers": len(client.ncores())}


def run(client, request):
    """Execute a trial and return what was measured."""
    execute, finish = of_module(client, request) if "program" not in request else of_program(client, request)
    settle(client)
    sidekick = request.get("kind") == "sidekick"
    count = counters.Instant(client) if request.get("instant") else counters.Executing(client)
    if sidekick:
        begin(client, request)
    if mark := request.get("mark"):  # from here on esched may ask the scheduler how far it is
        client.sync(client.scheduler.esched_progress, mark=mark)
    memory.reset()
    try:
        with timeline.Traced(client, request) as traced:
            response, values = execute()
        response["driver_peak_bytes"] = memory.peak()
    finally:
        gc.collect()
        ended = end(client) if sidekick else {}
    response |= count.since() | traced.response
    settle(client)
    outcome = unexecuted(values) if request.get("instant") else finish(values)
    response |= {"result": outcome.result, "digest": outcome.digest}
    return response | ({"sidekick": ended} if sidekick else {})


def of_module(client, request):
    """Prepare a workload; return what executes it and what makes a Result of its values."""
    name = request.get("module") or "esched_workloads." + request["workload"].replace("-", "_")
    workload = importlib.import_module(name)
    params, seed = dict(request["params"]), request.get("seed", 0)
    for extra in ("data", "graph"):
        if request.get(extra):
            params[extra] = request[extra]
    if hasattr(workload, "prepare"):
        workload.prepare(client, params, seed)
    return (
        lambda: measure(client, workload, params, seed),
        lambda values: workload.finish(values, params),
    )


def of_program(client, request):
    """Return the same two functions for a user's own program; its value is a Result."""
    return lambda: program.measure(client, request), lambda outcome: outcome


def measure(client, workload, params, seed):
    """Take the time from the submit call to the last result."""
    gc.collect()
    start = time.perf_counter()
    if hasattr(workload, "execute"):
        values, submitting = workload.execute(client, params, seed)
        return {"makespan_s": time.perf_counter() - start, "submit_s": submitting}, values
    futures = workload.submit(client, params, seed)
    submitted = time.perf_counter()
    values = client.gather(futures)
    done = time.perf_counter()
    return {"makespan_s": done - start, "submit_s": submitted - start}, values


def unexecuted(values):
    """Check the results of workers that execute nothing: they are all 0."""
    if any(value != 0 for value in (values if isinstance(values, (list, tuple)) else [values])):
        raise ValueError("a result is not that of a worker that executes nothing")
    return Result(result="nothing was executed", digest="instant")


def settle(client):
    """Wait until the scheduler holds no task, so that trials do not overlap."""
    gc.collect()
    limit = time.monotonic() + FORGET
    while held := client.run_on_scheduler(counters.count_tasks):
        if time.monotonic() > limit:
            raise TimeoutError(f"scheduler still holds {held} tasks after {FORGET:g} s")
        time.sleep(0.01)


def begin(client, request):
    """Tell the sidekick in the scheduler that a trial begins."""
    answer = client.sync(
        client.scheduler.esched_begin,
        policy=request.get("policy", ""),
        seed=request.get("policy_seed", 0),
        options=request.get("options") or {},
    )
    if answer.get("status") != "OK":
        raise RuntimeError(f"sidekick: {answer.get('error', answer)}")


def end(client):
    """Tell the sidekick that the trial ended and return what it counted."""
    answer = dict(client.sync(client.scheduler.esched_end))
    answer.update(decisions.summarise(answer.pop("latency_ns", b""), answer.pop("asked_ns", b"")))
    return {key: value for key, value in answer.items() if not isinstance(value, bytes)}
