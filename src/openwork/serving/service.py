"""What a server does, without HTTP: it finds a bundle for a request, queues texts, and waits for the answers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from openwork.base.errors import UsageError
from openwork.base.tasks import command_for, task_of
from openwork.bundles.folder import whole_bundle
from openwork.bundles.settings import load_tokenizers, read_bundle_settings
from openwork.inference.continuation.text import Prompt
from openwork.inference.translation import Translation
from openwork.machine.available import cores
from openwork.models.families import context, continues
from openwork.runs.usable import usable_bundle
from openwork.serving.estimating import TokenEstimate
from openwork.serving.messages import shown
from openwork.serving.options import BEST, UNBOUND, TextConstraints, TranslationOptions
from openwork.serving.pool import WorkerPool
from openwork.serving.scheduling import Job, JobQueue
from openwork.serving.settings import ServerSettings
from openwork.text.pair import TokenizerPair

LONGEST = 20_000  # characters of a prompt whose tokens are counted
STREAMED = TranslationOptions(stream=True)
LONGEST_PROMPT = 1023  # tokens; of a longer one `openwork complete` leaves the beginning out, and a server refuses it


class NotServed(Exception):
    """No bundle has this name, or translates in this direction, or it is for other requests."""


class UnknownModel(NotServed):
    """No bundle has the name of this model."""


class NotTranslated(Exception):
    """A worker could not answer."""


@dataclass(frozen=True)
class ServedModel:
    """A bundle as the server knows it, without its weights; languages are empty where the bundle does not say.

    Attributes:
        tokenizers: of a language model, whose prompts are counted before they are accepted; None of a translator.
        changed: when it was written, in seconds since 1970.
        context: the most tokens of a prompt and its continuation together; None: any number.
        longest: the most tokens of a continuation.
    """

    name: str
    path: Path
    source: str
    target: str
    tokenizers: TokenizerPair | None
    changed: int
    context: int | None
    longest: int
    estimate: TokenEstimate = field(default_factory=TokenEstimate, compare=False)

    @classmethod
    def read(cls, name: str, path: Path) -> "ServedModel":
        """BundleError for a damaged bundle, UsageError for one that neither translates nor continues texts."""
        usable = usable_bundle(path)
        folder = whole_bundle(usable)
        settings, _ = read_bundle_settings(folder, usable)
        if command_for(settings) != "openwork translate":
            raise UsageError(
                f"{path}: only translators of texts and language models are served",
                why=f"its task is {task_of(settings.model)!r}, for {command_for(settings)}",
                hint=f"use it by {command_for(settings)}",
                code="U132",
            )
        languages = (settings.source_language or "", settings.target_language or "")
        decoding, is_language_model = settings.decoding, continues(settings.model)
        if is_language_model and (decoding.prefix or decoding.required or decoding.forbidden):
            raise UsageError(
                f"{path}: its [decoding] asks for texts, and a server does not see to them in continuations",
                why="prefix, required and forbidden are for openwork complete and translate",
                hint="serve a bundle whose settings leave them out",
                code="U146",
            )
        return cls(
            name, usable, *languages, load_tokenizers(folder, settings) if is_language_model else None,
            int(folder.stat().st_mtime), context(settings.model), decoding.maximum_length,
        )  # fmt: skip

    @property
    def is_language_model(self) -> bool:
        """Whether it continues texts, and does not translate."""
        return self.tokenizers is not None

    def prompt_tokens(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each prompt of a language model, without symbols."""
        assert self.tokenizers is not None
        return [len(ids) for ids, _ in self.tokenizers.encode_sources(texts)]

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


@dataclass(frozen=True)
class SampledPrompts:
    """Prompts with the tokens of each, and how their continuations are drawn; with the temperature 0 they are not."""

    prompts: Sequence[Prompt]
    tokens: Sequence[int]
    temperature: float = 1.0
    top_p: float = 1.0


Part = tuple[int, str | dict[str, Any]]
"""The place of a text among others, and the next part of its answer, or at the end the whole answer."""


class _Waiting:
    """An answer that a coroutine waits for; parts of it come through the queue, None at their end.

    `place`: of the text, among those whose parts come through the same queue.
    """

    def __init__(self, place: int = 0, parts: asyncio.Queue[tuple[int, str | None]] | None = None) -> None:
        self.found: asyncio.Future[list[dict[str, Any]]] = asyncio.get_running_loop().create_future()
        self.place = place
        self.parts: asyncio.Queue[tuple[int, str | None]] = asyncio.Queue() if parts is None else parts
        self.has_shown = False

    def piece(self, text: str) -> None:
        self.has_shown = True
        self.parts.put_nowait((self.place, text))

    def done(self, answers: list[dict[str, Any]]) -> None:
        if not self.found.done():
            self.found.set_result(answers)
        self.parts.put_nowait((self.place, None))

    def failed(self, problem: str) -> None:
        if not self.found.done():
            self.found.set_exception(NotTranslated(problem))
        self.parts.put_nowait((self.place, None))


class Service:
    """Answers by the bundles that it was given, in batches with the texts of other requests."""

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
        """The translator of that name, or the first for the direction; None as a language stands for any. NotServed."""
        if bundle is not None:
            if bundle not in self.models:
                raise NotServed(f"no bundle has the name {bundle!r}; there are {', '.join(self.models)}")
            if self.models[bundle].is_language_model:
                raise NotServed(f"{bundle} is a language model, for /v1/completions and /v1/chat/completions")
            return self.models[bundle]
        for model in self.translators:
            if all(wanted in (None, own) for wanted, own in ((source, model.source), (target, model.target))):
                return model
        directions = sorted({f"{model.source or '?'} to {model.target or '?'}" for model in self.translators})
        served = ", ".join(directions) or "language models alone"
        raise NotServed(f"no bundle translates {source or 'any'} to {target or 'any'}; served: {served}")

    def find_language_model(self, name: str) -> ServedModel:
        """The language model of that name. UnknownModel, or NotServed where it is a translator."""
        if name not in self.models:
            names = ", ".join(model.name for model in self.language_models) or "none"
            raise UnknownModel(f"no model has the name {name!r}; language models: {names}")
        if not self.models[name].is_language_model:
            raise NotServed(f"{name} is a translator, for /v1/translate")
        return self.models[name]

    @property
    def translators(self) -> list[ServedModel]:
        return [model for model in self.models.values() if not model.is_language_model]

    @property
    def language_models(self) -> list[ServedModel]:
        return [model for model in self.models.values() if model.is_language_model]

    async def translate(
        self,
        model: ServedModel,
        texts: Sequence[str],
        options: TranslationOptions = BEST,
        constraints: Sequence[TextConstraints] | None = None,
    ) -> list[list[dict[str, Any]]]:
        """For each text its best translations, the first with what else was wanted of it.

        `constraints` are those of each text. Full where the queue is, NotTranslated where a worker could not. A
        coroutine that is cancelled gives the texts up.
        """
        wanted = constraints or [UNBOUND] * len(texts)
        written = [pair for pair in zip(texts, wanted, strict=True) if pair[0].strip()]  # the others give themselves
        self.queue.check(sum(model.count_tokens(text) for text, _ in written))  # a refusal must cost little
        jobs = [self._job(model, text, options, one, _Waiting()) for text, one in written]
        found = iter(await self._answers(model, jobs) if jobs else ())
        return [next(found) if text.strip() else [shown(Translation(text))] * options.best for text in texts]

    def stream(self, model: ServedModel, text: str, constraints: TextConstraints = UNBOUND) -> AsyncIterator[Part]:
        """The parts of a translation as a greedy search finds them; `Full` before the first of them.

        NotTranslated where a worker could not. When it is closed, the text is given up.
        """
        return self._streamed(model, [self._job(model, text, STREAMED, constraints, _Waiting())])

    async def complete(self, model: ServedModel, sampling: SampledPrompts) -> list[dict[str, Any]]:
        """The continuation of each prompt; errors as of `translate`."""
        jobs = [self._prompt_job(model, sampling, place, _Waiting()) for place in range(len(sampling.prompts))]
        return [best for (best,) in await self._answers(model, jobs)]

    def stream_completions(self, model: ServedModel, sampling: SampledPrompts) -> AsyncIterator[Part]:
        """The parts of all continuations as they are found; errors as of `stream`."""
        parts: asyncio.Queue[tuple[int, str | None]] = asyncio.Queue()
        places = range(len(sampling.prompts))
        jobs = [self._prompt_job(model, sampling, place, _Waiting(place, parts), stream=True) for place in places]
        return self._streamed(model, jobs)

    async def draw_map(self, model: ServedModel, preset: str | None) -> dict[str, Any]:
        """The map of a bundle, or of a preset by a process of that bundle: `cost.model_map`, as plain JSON."""
        now = asyncio.get_running_loop().time()
        job = Job(("map",), "", 1, now, {"bundle": model.name, "map": preset}, _Waiting(), is_alone=True)
        self.queue.add([job])
        self.pool.wake()
        ((found,),) = await self._waited([job])
        return found

    async def _answers(self, model: ServedModel, jobs: list[Job]) -> list[list[dict[str, Any]]]:
        self._add(model, jobs)
        return await self._waited(jobs)

    async def _waited(self, jobs: list[Job]) -> list[list[dict[str, Any]]]:
        try:
            return list(await asyncio.gather(*(job.answered.found for job in jobs)))
        except BaseException:
            self._give_up(jobs)
            raise

    def _streamed(self, model: ServedModel, jobs: list[Job]) -> AsyncIterator[Part]:
        self._add(model, jobs)
        return self._parts(jobs)

    async def _parts(self, jobs: list[Job]) -> AsyncIterator[Part]:
        left = len(jobs)
        try:
            while left:
                place, part = await jobs[0].answered.parts.get()
                if part is not None:
                    yield place, part
                    continue
                left -= 1
                yield place, (await jobs[place].answered.found)[0]
        finally:
            self._give_up(jobs)

    def _job(
        self, model: ServedModel, text: str, options: TranslationOptions, constraints: TextConstraints,
        answered: _Waiting,
    ) -> Job:  # fmt: skip
        now = asyncio.get_running_loop().time()
        work = {"bundle": model.name, **asdict(options), "constraints": asdict(constraints)}
        tokens = model.count_tokens(text)
        return Job((model.name, options), text, tokens, now, work, answered, is_alone=options.stream)

    def _prompt_job(
        self, model: ServedModel, sampling: SampledPrompts, place: int, answered: _Waiting, *, stream: bool = False
    ) -> Job:
        now, prompt = asyncio.get_running_loop().time(), sampling.prompts[place]
        settings = {"temperature": sampling.temperature, "top_p": sampling.top_p}
        ends = {name: value for name, value in asdict(prompt).items() if name != "text"}
        work = {"bundle": model.name, "stream": stream, **settings, "prompt": ends}
        group = (model.name, *settings.values())
        return Job(group, prompt.text, sampling.tokens[place] + prompt.length, now, work, answered)

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
        """Leaves those that have no answer; `gather` may have cancelled them already."""
        for job in jobs:
            found = job.answered.found
            if not found.done():
                found.cancel()
            if found.cancelled():
                self.pool.give_up(job)
            else:
                found.exception()  # taken note of
