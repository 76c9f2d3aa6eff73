"""Workers of Ray (the extra `scale`): processes of this machine, or of a cluster. No torch here.

Each worker is an actor with one core. The driver, which is this process, gives it one item at a time. If a worker dies,
another takes its place and its item. Ray ends with the pool, however the pool ends.
"""

import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from openwork.base.errors import ConfigError, OpenworkError, UsageError, report
from openwork.base.messages import msg
from openwork.machine.available import cores
from openwork.machine.pool import Results

T = TypeVar("T")
R = TypeVar("R")

MOST_DEATHS = 3  # of workers at one item, or at their start; then the item, or the machine, is the cause
TIMEOUT = 10.0  # seconds for a connection to a cluster
PATIENCE = 60.0  # seconds for the answer of a cluster; and without any worker, after which the user gets a line
STARTING = -1  # in place of the number of an item
ADDRESS = "RAY_ADDRESS"  # what a job of Ray finds in its environment
# Before Ray is imported: no statistics to its makers, and no line of its own on standard output, as for a dead worker.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
}


class RayPool:
    """`workers` processes of Ray, or one for each core; `address`: of a cluster, else Ray runs here for this pool.

    ConfigError where Ray is not installed, UsageError for an address that is none.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        if find_spec("ray") is None:
            raise ConfigError(
                "--on ray needs Ray, which is not installed", hint="pip install ray (the extra scale)", code="C113"
            )
        self.workers = workers
        self.address = address or os.environ.get(ADDRESS) or "local"
        if self.address not in ("local", "auto"):
            _host_and_port(self.address)

    def run(self, start: Callable[[], Callable[[T], R]], items: Sequence[T]) -> Results[T, R]:
        """Yields every item once with its result, as `Pool.run` says.

        OpenworkError for a cluster that cannot be reached, and for workers that die before they begin.
        """
        if not items:
            return
        with _connected(self.address, self.workers) as (ray, count):
            yield from _Crew(ray, start, min(count, len(items))).run(items)


@contextlib.contextmanager
def _connected(address: str, workers: int | None) -> Iterator[tuple[Any, int]]:
    """Ray, connected or started, and the number of workers; at the end Ray is left, and one that ran here has ended."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    is_local = address == "local"
    if ":" in address:
        _check_reachable(address)
    import ray  # type: ignore[import-not-found]

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if is_local:
        # only names of files pass through Ray's own memory, so its least is enough
        options |= {"num_cpus": workers or cores(), "include_dashboard": False, "object_store_memory": 100 << 20}
    try:
        try:
            ray.init(address=address, **options)
        except (OSError, RuntimeError, ValueError, ImportError) as error:  # OSError: also of a connection or a timeout
            raise _unreachable(address, str(error).partition("\n")[0]) from error
        yield ray, workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        ray.shutdown()


def _host_and_port(address: str) -> tuple[str, int]:
    found = re.fullmatch(r"\[?([^/\s]+?)\]?:(\d{1,5})", address)
    if not found or int(found[2]) > 65535:
        raise UsageError(
            f"--address {address}: no address of a cluster",
            hint="such as --address HOST:6379, which ray start printed; auto for the cluster of this machine",
            code="U102",
        )
    return found[1], int(found[2])


def _check_reachable(address: str) -> None:
    """OpenworkError within a minute for an address where nothing answers, or something else: Ray would try for ever.

    So a process of its own tries to connect, which can be ended.
    """
    program = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False)"
    try:
        socket.create_connection(_host_and_port(address), timeout=TIMEOUT).close()
        subprocess.run([sys.executable, "-c", program, address], capture_output=True, timeout=PATIENCE, check=True)
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from error
    except subprocess.TimeoutExpired as error:
        raise _unreachable(address, msg("something answers there, but not as Ray does")) from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").split("\n")
        raise _unreachable(address, next((line for line in reversed(lines) if line.strip()), "")) from error


def _unreachable(address: str, why: str) -> OpenworkError:
    return OpenworkError(
        f"{address}: no cluster of Ray can be reached there",
        why=why,
        hint="give the address that ray start has printed; without --address Ray runs on this machine",
        code="E039",
    )


class _RayWorker:
    """What runs in a worker's process."""

    def __init__(self, start: Callable[[], Callable[[Any], Any]]) -> None:
        self._start = start
        self._work: Callable[[Any], Any] | None = None

    def begin(self) -> None:
        """Makes the function. Not in `__init__`, whose errors Ray would report as the death of the worker."""
        self._work = self._start()

    def work(self, item: Any) -> Any:
        assert self._work is not None
        return self._work(item)


@dataclass(frozen=True)
class _Task:
    """What a worker does: the item of this number, or its own start."""

    worker: Any
    number: int = STARTING


@dataclass(frozen=True)
class _Death:
    """The end of a worker, in place of a result; `why`: what Ray says of it."""

    why: str


class _Crew:
    """The workers of one run, and what they do."""

    def __init__(self, ray: Any, start: Callable[[], Callable[[Any], Any]], count: int) -> None:
        self._ray = ray
        self._make = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_RayWorker).remote
        self._start = start
        self._under_way: dict[Any, _Task] = {}  # by the reference to its result
        for _ in range(count):
            self._hire()

    def run(self, items: Sequence[T]) -> Iterator[tuple[T, Any]]:
        waiting = deque(range(len(items)))
        deaths = Counter[int]()
        left = len(items)
        while left:  # not while workers are under way: a cluster may never have a core for the last of them
            reference = self._finished()
            task = self._under_way.pop(reference)
            result = self._result(reference)
            is_done = task.number != STARTING
            if isinstance(result, _Death):
                deaths[task.number] += 1
                if deaths[task.number] >= MOST_DEATHS:
                    result = self._explained(task, result)
                elif is_done:
                    is_done = False
                    waiting.appendleft(task.number)
                    report("a worker of Ray died; another does its work")
                if waiting:
                    self._hire()
            else:
                deaths[STARTING] = 0
                if waiting:
                    number = waiting.popleft()
                    self._under_way[task.worker.work.remote(items[number])] = _Task(task.worker, number)
            if is_done:
                left -= 1
                yield items[task.number], result

    def _hire(self) -> None:
        worker = self._make(self._start)
        self._under_way[worker.begin.remote()] = _Task(worker)

    def _finished(self) -> Any:
        """The reference to a result that is there."""
        while True:
            is_any_at_work = any(task.number != STARTING for task in self._under_way.values())
            found, _ = self._ray.wait(list(self._under_way), timeout=None if is_any_at_work else PATIENCE)
            if found:
                return found[0]
            report(f"no worker of Ray has started after {PATIENCE:.0f} seconds: the cluster may have no free core")

    def _result(self, reference: Any) -> Any:
        """What the worker returned, or its death. Raises the error of its function."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:  # of the worker, its machine or its memory
            return _Death(" ".join(str(error).split()))

    def _explained(self, task: _Task, death: _Death) -> OpenworkError:
        """The error for an item at which workers die; raises that for workers that die before any item."""
        if task.number == STARTING:
            raise OpenworkError(
                "workers of Ray die at their start",
                why=death.why,
                hint="fewer workers need less memory: --workers 1; openwork must be installed on every machine",
                code="E040",
            )
        return OpenworkError(
            f"{MOST_DEATHS} workers died at the same task, one after another",
            why=death.why,
            hint="see whether memory was short: fewer --workers need less",
            code="E041",
        )
