"""A user's own program, executed in a process of its own.

The contract is small. The process finds in its environment

``ESCHED_PARAMS``
    a file with the parameters of the trial, one JSON object;
``ESCHED_SEED``
    the seed of the experiment;
``ESCHED_SCHEDULER``
    the address of the Dask scheduler, ``tcp://...`` or ``tls://...``; in the
    latter case also ``ESCHED_TLS_CA`` and ``ESCHED_TLS_CERT``, the files of the
    authority and of certificate and key. Dask's clients know all that already,
    as the settings of the deployment are in the environment, too;
``ESCHED_RESULT``
    where to write the result, one JSON value.

and ends with exit status 0. Its working directory is empty and removed
afterwards. For a Python script esched does all that: ``python -m
esched_client.program MODULE`` connects a client, calls ``run(client, params)``
(or ``run(client, params, seed)``) of the module, and writes what it returns.
"""

import contextlib
import hashlib
import importlib
import inspect
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from esched_client import Result

#: Seconds between two looks at memory and size of the result.
WATCH = 0.1
#: Seconds that a program gets to end after it was told to.
GRACE = 2.0
#: Seconds that reading what an ended program printed may take. Somebody else may
#: hold the pipe; that nobody has time to read it is more frequent.
DRAIN = 10.0
#: Seconds that connecting to the scheduler may take.
CONNECT = 120
#: Bytes of the standard error that are kept for messages.
TAIL = 4000
#: Characters of a result that are shown to people.
SHOWN = 200


class ProgramError(Exception):
    """A program broke the contract; ``log`` is the end of its standard error."""

    #: Whether it ran longer than it may.
    late = False

    def __init__(self, reason, log=""):
        super().__init__(reason)
        self.log = log


class TimeLimitError(ProgramError):
    """A program ran longer than it may."""

    late = True


class Running:
    """One execution of a program."""

    def __init__(self, request, client):
        self.spec = request["program"]
        self.name = request["workload"]
        self.scripted = "module" in self.spec
        self.directory = tempfile.mkdtemp(prefix="esched-program-")
        self.result = os.path.join(self.directory, ".esched-result.json")
        parameters = os.path.join(self.directory, ".esched-params.json")
        with open(parameters, "w", encoding="utf-8") as file:
            json.dump(request["params"], file)
        self.environment = os.environ | {
            "ESCHED_PARAMS": parameters,
            "ESCHED_RESULT": self.result,
            "ESCHED_SEED": str(request.get("seed", 0)),
            "ESCHED_SCHEDULER": client.scheduler.address,
            "TMPDIR": self.directory,
        }
        self.environment |= certificates()
        self.tail = b""

    def run(self):
        """Execute the program; return seconds from its start to its end, and its result."""
        argv = self.spec.get("argv") or [sys.executable, "-m", __spec__.name, self.spec["module"]]
        try:
            start = time.perf_counter()
            process = subprocess.Popen(
                argv,
                cwd=self.directory,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ProgramError(f"program {self.name}: {error}") from None
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))  # crashes must not fill the disk
        reader = threading.Thread(target=self.read, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            self.wait(process, start)
        finally:
            elapsed = time.perf_counter() - start
            end(process)
            reader.join(DRAIN)
        if process.returncode != 0:
            raise ProgramError(f"program {self.name} {how(process.returncode)}{self.last_words()}", self.log())
        return elapsed, self.load()

    def wait(self, process, start):
        """Return when the process has ended; raise when it exceeds a limit."""
        limits = self.spec.get("limits", {})
        descriptor = os.pidfd_open(process.pid)
        try:
            while not select.select([descriptor], [], [], WATCH)[0]:
                self.check(process.pid, time.perf_counter() - start, limits)
        finally:
            os.close(descriptor)
        process.wait()

    def check(self, pid, elapsed, limits):
        """Raise when the running program exceeds a limit."""
        limit = limits.get("seconds", 0)
        if 0 < limit < elapsed:
            raise TimeLimitError(
                f"program {self.name} ran longer than its limit of {limit:g} s{self.last_words()}", self.log()
            )
        limit = limits.get("memory_bytes", 0)
        if 0 < limit < (used := memory(pid)):
            raise ProgramError(
                f"program {self.name} used {size(used)} of memory, more than its limit of {size(limit)}"
                + self.last_words(),
                self.log(),
            )
        self.check_size()

    def check_size(self):
        """Raise when the result is larger than it may be."""
        limit = self.spec.get("limits", {}).get("result_bytes", 0)
        with contextlib.suppress(FileNotFoundError):
            written = os.stat(self.result).st_size
            if 0 < limit < written:
                raise ProgramError(
                    f"program {self.name} wrote a result of {size(written)}, more than its limit of {size(limit)}",
                    self.log(),
                )

    def read(self, pipe):
        """Pass on what the program prints to the log, and keep the end of it."""
        left = self.spec.get("limits", {}).get("log_bytes", 1 << 20)
        while chunk := pipe.read1(65536):
            self.tail = (self.tail + chunk)[-TAIL:]
            with contextlib.suppress(OSError):  # a full disk shows elsewhere
                os.write(2, chunk[: max(left, 0)])
            left -= len(chunk)
        pipe.close()

    def log(self):
        """Return the end of what the program printed."""
        return self.tail.decode(errors="replace").strip()

    def last_words(self):
        """Return the last line that the program printed, to be appended to a reason."""
        lines = self.log().splitlines()
        return f"; its output ends with: {lines[-1].strip()[:500]}" if lines else "; it printed nothing"

    def load(self):
        """Return what the program wrote as its result."""
        self.check_size()
        try:
            with open(self.result, "rb") as file:
                text = file.read()
        except FileNotFoundError:
            raise ProgramError(
                f"program {self.name} wrote no result to the file that ESCHED_RESULT names", self.log()
            ) from None
        try:
            return json.loads(text, parse_constant=reject)
        except ValueError as error:
            beginning = text[:60].decode(errors="replace")
            raise ProgramError(
                f"program {self.name} wrote a result that is not JSON ({error}): {beginning!r}", self.log()
            ) from None

    def remove(self):
        """Remove the working directory."""
        shutil.rmtree(self.directory, ignore_errors=True)


def measure(client, request):
    """Execute the program of a request; return times as fields of a response, and a Result."""
    running = Running(request, client)
    try:
        elapsed, value = running.run()
        if running.scripted:  # the module below wrote it: with the time of run() alone
            elapsed, value = value["seconds"], value["value"]
        outcome = summarise(running.name, value)
    finally:
        running.remove()
    return {"makespan_s": max(elapsed, 1e-9), "submit_s": 0.0}, outcome


def summarise(name, value):
    """Return the Result that a program's JSON value means.

    An object with a text ``digest`` (and ``result``) names what is compared
    itself; of any other value it is the whole.
    """
    if value is None:
        raise ProgramError(f"program {name} returned nothing: its result must be a value that can be compared")
    if isinstance(value, dict) and isinstance(value.get("digest"), str) and value["digest"]:
        shown = value.get("result", "")
        return Result(result=shorten(shown if isinstance(shown, str) else compact(shown)), digest=value["digest"])
    text = compact(value)
    return Result(
        result=shorten(value if isinstance(value, str) else text),
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def compact(value):
    """Return the canonical JSON of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def shorten(text):
    """Return a text of one line, cut."""
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def certificates():
    """Return the variables that name the deployment's certificates; none without TLS."""
    import dask

    found = {
        "ESCHED_TLS_CA": dask.config.get("distributed.comm.tls.ca-file", None),
        "ESCHED_TLS_CERT": dask.config.get("distributed.comm.tls.client.cert", None),
    }
    return {name: path for name, path in found.items() if path}


def below(pid):
    """Return the processes below one, those included that left its group."""
    import psutil

    with contextlib.suppress(psutil.Error):  # it has ended meanwhile
        return psutil.Process(pid).children(recursive=True)
    return []


def memory(pid):
    """Return the resident bytes of a process and of all below it."""
    import psutil

    total = 0
    with contextlib.suppress(psutil.Error):
        total = psutil.Process(pid).memory_info().rss
    for process in below(pid):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def end(process):
    """End a process and all below it: politely, then not."""
    import psutil

    others = below(process.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for other in others:  # psutil makes sure that it is still the same process
        with contextlib.suppress(psutil.Error):
            other.kill()
    process.wait()


def how(code):
    """Say how a process ended."""
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit status {code}"


def size(count):
    """Return a number of bytes for people."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.4g} {unit}"
        count /= 1000
    return f"{count:.4g} GB"


def reject(constant):
    """Refuse what JSON does not have."""
    raise ValueError(f"{constant} is no JSON value")


def plain(value):
    """Return arrays and numbers of numerical libraries as JSON values."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"run returned a {type(value).__name__}, which is no JSON value")


def call(module, client, params, seed):
    """Call the module's function and return seconds and value."""
    run = getattr(module, "run", None)
    if not callable(run):
        raise SystemExit(f"{module.__name__.rpartition('.')[2]}.py has no function run(client, params)")
    arguments = [client, params, seed][: max(2, len(inspect.signature(run).parameters))]
    start = time.perf_counter()
    value = run(*arguments)
    seconds = time.perf_counter() - start
    if isinstance(value, Result):
        value = {"result": value.result, "digest": value.digest}
    return seconds, value


def main():
    """Run one module by the contract."""
    import distributed

    with open(os.environ["ESCHED_PARAMS"], encoding="utf-8") as file:
        params = json.load(file)
    module = importlib.import_module(sys.argv[1])
    with distributed.Client(os.environ["ESCHED_SCHEDULER"], timeout=CONNECT, set_as_default=True) as client:
        seconds, value = call(module, client, params, int(os.environ["ESCHED_SEED"]))
        text = json.dumps({"seconds": seconds, "value": value}, default=plain, allow_nan=False)
        with open(os.environ["ESCHED_RESULT"], "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
