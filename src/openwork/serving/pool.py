"""The processes that answer, seen from the server: they are started, given batches, and replaced when they end."""

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from openwork.base.errors import OpenworkError
from openwork.serving.messages import encoded, read
from openwork.serving.scheduling import Job, JobQueue

LOG = logging.getLogger("openwork.serving")
AGAIN_SECONDS = 1.0  # before processes that ended by themselves are started again
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 33), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
"""glibc keeps what a batch freed for the next one, so that memory stays where the largest batches brought it instead
of going up and down by a fifth, and a batch needs 3 % less time (docs/serve.md)."""


class JobAnswer(Protocol):
    """What waits for the answers to a job."""

    def piece(self, text: str) -> None:
        """The next part of a text that is shown while it is found."""

    def done(self, answers: list[dict[str, Any]]) -> None: ...

    def failed(self, problem: str) -> None: ...

    @property
    def has_shown(self) -> bool:
        """Whether a part was shown, so that the job cannot be done again."""
        ...


@dataclass(eq=False)
class _Batch:
    jobs: list[Job]
    started: float
    number: int = field(default_factory=count().__next__)

    @property
    def tokens(self) -> int:
        return sum(job.tokens for job in self.jobs)


@dataclass(eq=False)
class _Worker:
    """A connected worker process and the batch that it works on."""

    process: int
    generation: int
    writer: asyncio.StreamWriter
    batch: _Batch | None = None


class WorkerPool:
    """Worker processes that take jobs from a queue.

    `generation` counts how often the bundles were loaded: workers of an earlier one finish what they have and end.
    """

    def __init__(self, bundles: Mapping[str, Path], workers: int, precision: str, queue: JobQueue) -> None:
        self.bundles, self.workers, self.precision, self.queue = bundles, workers, precision, queue
        self.generation = 0
        self.restarts = 0
        self._models: dict[int, asyncio.StreamWriter] = {}  # the processes with the bundles
        self._loading: dict[int, asyncio.Future[None]] = {}
        self._started: dict[int, subprocess.Popen[bytes]] = {}
        self._joined: set[_Worker] = set()
        self._changed = asyncio.Event()
        self._one_load = asyncio.Lock()
        self._is_ending = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Returns when the bundles are loaded. OpenworkError where one cannot be."""
        self._folder = tempfile.TemporaryDirectory(prefix="openwork-")  # only this user may enter it
        self._place = os.path.join(self._folder.name, "workers")
        self._server = await asyncio.start_unix_server(self._met, self._place)
        try:
            await self._load()
        except BaseException:
            await self.stop()
            raise
        self._keep(self._assign())

    async def reload(self) -> None:
        """Loads the bundles again; until they are ready, and where that fails, the others answer."""
        await self._load()

    async def stop(self) -> None:
        """Ends the processes. Jobs that are left get no answer."""
        self._is_ending = True
        for task in list(self._tasks):
            task.cancel()
        for writer in (*self._models.values(), *(worker.writer for worker in self._joined)):
            writer.close()
        self._server.close()
        for process in self._started.values():
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, 5)
        self._folder.cleanup()

    async def finished(self) -> None:
        """Returns when no job waits and none is worked on."""
        while len(self.queue) or any(worker.batch for worker in self._joined):
            await asyncio.sleep(0.02)

    @property
    def is_ready(self) -> bool:
        return any(worker.generation == self.generation for worker in self._joined)

    @property
    def under_way(self) -> int:
        """The jobs that are worked on."""
        return sum(len(worker.batch.jobs) for worker in self._joined if worker.batch)

    def wake(self) -> None:
        """Called when jobs were added."""
        self._changed.set()

    def give_up(self, job: Job) -> None:
        """Nobody waits for this job any longer."""
        if self.queue.remove(job):
            return
        for worker in self._joined:
            if worker.batch and job in worker.batch.jobs:
                places = [worker.batch.jobs.index(job)]
                worker.writer.write(encoded({"left_batch": worker.batch.number, "places": places}))

    async def _load(self) -> None:
        async with self._one_load:  # so that the newest bundles are those that stay
            await self._load_alone()

    async def _load_alone(self) -> None:
        generation = max(self._loading, default=0) + 1
        loading = self._loading[generation] = asyncio.get_running_loop().create_future()
        command = [sys.executable, "-m", "openwork.serving.models", self._place, str(generation)]
        environment = KEEP_MEMORY | os.environ | {"OMP_NUM_THREADS": "1"}
        self._started[generation] = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment)
        self._keep(self._watch(generation))
        await loading
        before, self.generation = self.generation, generation
        for _ in range(self.workers):
            self._fork()
        if before in self._models:
            self._models.pop(before).close()
        for worker in list(self._joined):
            self._free(worker)

    async def _watch(self, generation: int) -> None:
        """A process that ends before its bundles are loaded is a failure."""
        code = await asyncio.to_thread(self._started[generation].wait)
        error = OpenworkError(
            f"the process that loads the bundles has ended with status {code}",
            hint="openwork verify BUNDLE loads one alone; a negative status is a signal, -9 often too little memory",
            code="E052",
        )
        self._fail(generation, error)

    def _fail(self, generation: int, error: OpenworkError) -> None:
        if not self._loading[generation].done():
            self._loading[generation].set_exception(error)

    def _fork(self) -> None:
        if self.generation in self._models:
            self._models[self.generation].write(encoded({"copy": True}))

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A process has connected."""
        first = await read(reader)
        if first is None:
            return
        if "models" in first:
            await self._serve_models(first["models"], reader, writer)
        else:
            await self._serve_worker(_Worker(first["worker"], first["generation"], writer), reader)

    async def _serve_models(self, generation: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        paths = {name: str(path) for name, path in self.bundles.items()}
        writer.write(encoded({"bundles": paths, "precision": self.precision}))
        loaded = await read(reader)
        if loaded is None:  # `_watch` says so
            return
        if "failed" in loaded:
            self._fail(generation, OpenworkError(**loaded["failed"]))
            writer.close()
            return
        self._models[generation] = writer
        self._loading[generation].set_result(None)
        await read(reader)  # until it ends
        if self._models.pop(generation, None) and generation == self.generation and not self._is_ending:
            LOG.error("the process with the bundles has ended; they are loaded again")
            self._keep(self._load_again())

    async def _load_again(self) -> None:
        while not self._is_ending:
            await asyncio.sleep(AGAIN_SECONDS)
            self.restarts += 1
            try:
                return await self._load()
            except OpenworkError as error:
                LOG.error("the bundles cannot be loaded: %s", error.what)

    async def _serve_worker(self, worker: _Worker, reader: asyncio.StreamReader) -> None:
        self._joined.add(worker)
        self._changed.set()
        while (message := await read(reader)) is not None:
            self._take(worker, message)
        self._joined.discard(worker)
        worker.writer.close()
        if worker.batch:
            self._lost(worker.batch)
        if worker.generation == self.generation and not self._is_ending:
            LOG.error("worker %d has ended, and is replaced", worker.process)
            self.restarts += 1
            self._fork()

    def _take(self, worker: _Worker, message: dict[str, Any]) -> None:
        batch = worker.batch
        if batch is None or message["batch"] != batch.number:
            return
        if "piece" in message:
            batch.jobs[message["place"]].answered.piece(message["piece"])
            return
        worker.batch = None
        self.queue.was_answered(batch.tokens, asyncio.get_running_loop().time() - batch.started)
        self._free(worker)  # it works on while its answers are written
        for place, job in enumerate(batch.jobs):
            if "error" in message:
                job.answered.failed(message["error"])
            else:
                job.answered.done(message["answers"][place])

    def _free(self, worker: _Worker) -> None:
        """A worker without a batch takes the next one, or ends if its bundles have been loaded again since."""
        if worker.batch is None and worker.generation != self.generation:
            worker.writer.close()
        self._hand_out()
        self._changed.set()

    def _lost(self, batch: _Batch) -> None:
        """The jobs of a worker that has ended are done once more, where nothing was shown of them."""
        again = [job for job in batch.jobs if not job.is_retried and not job.answered.has_shown]
        for job in batch.jobs:
            if job not in again:
                job.answered.failed("the process that worked on this has ended twice")
            job.is_retried = True
        self.queue.put_back(again)
        self._changed.set()

    async def _assign(self) -> None:
        """Gives batches to workers that have none."""
        seconds: float | None = None
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
            self._changed.clear()
            waits = self._hand_out()
            seconds = None if waits == float("inf") else waits

    def _hand_out(self) -> float:
        """Gives batches to workers that have none; returns the seconds after which there may be more to give."""
        clock = asyncio.get_running_loop().time
        free = [one for one in self._joined if one.batch is None and one.generation == self.generation]
        for taken, worker in enumerate(free):
            jobs, waits = self.queue.take(clock(), len(free) - taken)
            if not jobs:
                return waits
            self._give(worker, _Batch(jobs, clock()))
        return float("inf")

    def _give(self, worker: _Worker, batch: _Batch) -> None:
        worker.batch = batch
        jobs = [{"text": job.text, **job.work} for job in batch.jobs]
        worker.writer.write(encoded({"batch": batch.number, "jobs": jobs}))

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
