"""What a server does, without HTTP: it finds a bundle for a direction, queues texts, and waits for translations."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.tasks import command_for, task_of
from openwork.bundles.folder import whole_bundle
from openwork.bundles.settings import read_bundle_settings
from openwork.machine.available import cores
from openwork.runs.usable import usable_bundle
from openwork.serving.estimating import TokenEstimate
from openwork.serving.pool import WorkerPool
from openwork.serving.scheduling import Job, JobQueue
from openwork.serving.settings import ServerSettings

MOST_ALTERNATIVES = 16


class NotServed(Exception):
    """No bundle has this name, or translates in this direction."""


class NotTranslated(Exception):
    """A worker could not translate a text."""


@dataclass(frozen=True)
class ServedModel:
    """A bundle as the server knows it, without its weights; languages are empty where the bundle does not say."""

    name: str
    path: Path
    source: str
    target: str
    estimate: TokenEstimate = field(default_factory=TokenEstimate, compare=False)

    @classmethod
    def read(cls, name: str, path: Path) -> "ServedModel":
        """BundleError for a damaged bundle, UsageError for one that translates no text."""
        usable = usable_bundle(path)
        folder = whole_bundle(usable)
        settings, _ = read_bundle_settings(folder, usable)
        if command_for(settings) != "openwork translate":
            raise UsageError(
                f"{path}: only translators of texts are served",
                why=f"its task is {task_of(settings.model)!r}, for {command_for(settings)}",
                hint=f"use it by {command_for(settings)}",
                code="U132",
            )
        languages = (settings.source_language or "", settings.target_language or "")
        return cls(name, usable, *languages)

    def count_tokens(self, text: str) -> int:
        """About so many, with the end symbol; of a very long text those of its beginning, all that a model reads."""
        return self.estimate.tokens(text)


def named(paths: Sequence[Path]) -> dict[str, ServedModel]:
    """The bundles by the names of their folders. UsageError for two of one name."""
    found: dict[str, ServedModel] = {}
    for path in paths:
        name = path.resolve().name
        if name in found:
            raise UsageError(
                f"{path}: another bundle has the name {name} already",
                why="a request names a bundle by its folder",
                hint="rename one of the folders",
                code="U133",
            )
        found[name] = ServedModel.read(name, path)
    return found


class _Waiting:
    """An answer that a coroutine waits for; parts of it come through the queue, None at their end."""

    def __init__(self) -> None:
        self.found: asyncio.Future[list[dict[str, Any]]] = asyncio.get_running_loop().create_future()
        self.parts: asyncio.Queue[str | None] = asyncio.Queue()
        self.has_shown = False

    def piece(self, text: str) -> None:
        self.has_shown = True
        self.parts.put_nowait(text)

    def done(self, translations: list[dict[str, Any]]) -> None:
        if not self.found.done():
            self.found.set_result(translations)
        self.parts.put_nowait(None)

    def failed(self, problem: str) -> None:
        if not self.found.done():
            self.found.set_exception(NotTranslated(problem))
        self.parts.put_nowait(None)


class Service:
    """Translates texts by the bundles that it was given, in batches with the texts of other requests."""

    def __init__(self, models: Mapping[str, ServedModel], settings: ServerSettings) -> None:
        self.models = dict(models)
        self.queue = JobQueue(settings.queue_tokens)
        paths = {name: model.path for name, model in models.items()}
        self.pool = WorkerPool(paths, settings.workers or cores(), settings.precision, self.queue)
        self.is_ending = False
        self.answered: Callable[[str, int], None] = lambda bundle, tokens: None
        """Called with the bundle and the source tokens of each text that was translated."""

    async def start(self) -> None:
        await self.pool.start()

    async def stop(self) -> None:
        """Ends the processes, after what was started is finished."""
        self.is_ending = True
        await self.pool.finished()
        await self.pool.stop()

    async def reload(self) -> None:
        """Reads the bundles again. The old ones serve until the new ones are loaded, and where they cannot be."""
        models = {name: ServedModel.read(name, model.path) for name, model in self.models.items()}
        await self.pool.reload()
        self.models = models

    def find(self, source: str | None, target: str | None, bundle: str | None = None) -> ServedModel:
        """The bundle of that name, or the first for the direction; None as a language stands for any. NotServed."""
        if bundle is not None:
            if bundle not in self.models:
                raise NotServed(f"no bundle has the name {bundle!r}; there are {', '.join(self.models)}")
            return self.models[bundle]
        for model in self.models.values():
            if all(wanted in (None, own) for wanted, own in ((source, model.source), (target, model.target))):
                return model
        directions = sorted({f"{model.source or '?'} to {model.target or '?'}" for model in self.models.values()})
        raise NotServed(f"no bundle translates {source or 'any'} to {target or 'any'}; served: {', '.join(directions)}")

    async def translate(
        self, model: ServedModel, texts: Sequence[str], best: int = 1, required: Sequence[str] = ()
    ) -> list[list[dict[str, Any]]]:
        """For each text its best translations. Full where the queue is, NotTranslated where a worker could not.

        A coroutine that is cancelled gives the texts up.
        """
        self.queue.check(sum(map(model.count_tokens, texts)))  # before there are jobs: a refusal must cost little
        jobs = [self._job(model, text, best, required) for text in texts]
        self._add(model, jobs)
        try:
            return list(await asyncio.gather(*(job.answered.found for job in jobs)))
        except BaseException:
            self._give_up(jobs)
            raise

    def stream(self, model: ServedModel, text: str, required: Sequence[str] = ()) -> AsyncIterator[str]:
        """The parts of a translation as a greedy search finds them; `Full` before the first of them.

        NotTranslated where a worker could not. When it is closed, the text is given up.
        """
        job = self._job(model, text, 1, required, stream=True)
        self._add(model, [job])
        return self._parts(job)

    async def _parts(self, job: Job) -> AsyncIterator[str]:
        try:
            while (part := await job.answered.parts.get()) is not None:
                yield part
            await job.answered.found
        finally:
            self._give_up([job])

    def _job(self, model: ServedModel, text: str, best: int, required: Sequence[str], *, stream: bool = False) -> Job:
        now = asyncio.get_running_loop().time()
        work = {"bundle": model.name, "best": best, "stream": stream, "required": list(required)}
        group = (model.name, best)
        return Job(group, text, model.count_tokens(text), now, work, _Waiting(), is_alone=stream)

    def _add(self, model: ServedModel, jobs: list[Job]) -> None:
        self.queue.add(jobs)
        for job in jobs:
            job.answered.found.add_done_callback(partial(self._learn, model, job))
        self.pool.wake()

    def _learn(self, model: ServedModel, job: Job, found: asyncio.Future[list[dict[str, Any]]]) -> None:
        """Takes the number of tokens from the answer of a worker, which has counted them."""
        if not found.cancelled() and found.exception() is None:
            if tokens := found.result()[0].get("source_tokens", 0):
                model.estimate.learn(job.text, tokens)
            self.answered(model.name, tokens or job.tokens)

    def _give_up(self, jobs: list[Job]) -> None:
        for job in jobs:
            if not job.answered.found.done():
                job.answered.found.cancel()
                self.pool.give_up(job)
            elif not job.answered.found.cancelled():
                job.answered.found.exception()  # taken note of
