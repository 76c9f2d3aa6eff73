"""A process that answers batches: a copy of the process with the bundles, with one thread."""

import logging
import select
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.bundles.bundle import Bundle
from openwork.decoding.scoring import GivenUp
from openwork.inference.continuation.continuer import Continuer
from openwork.inference.continuation.text import Prompt
from openwork.inference.documents.aligning import Aligner
from openwork.inference.engine import TranslationPrecision
from openwork.inference.guard import UsualTexts, flagged, usual_texts
from openwork.inference.requests import Request
from openwork.inference.scorer import Scorer
from openwork.inference.settings import settings_over
from openwork.inference.translator import BatchTranslator
from openwork.serving.inspecting.attention_answer import attention_answer
from openwork.serving.inspecting.beam_answer import beam_answer
from openwork.serving.inspecting.map_answer import map_answer
from openwork.serving.inspecting.trace_answer import trace_answer
from openwork.serving.messages import receive, send, shown
from openwork.text.languages import can_tell_languages

LOG = logging.getLogger("openwork.serving")
Job = Mapping[str, Any]
Show = Callable[[int, str], None]
"""Gets the place of a text in its batch, and the next part of its answer."""
SEARCH_TOKENS = 8192  # padded source positions times hypotheses that are searched together, without smaller parts


class ServedBundle:
    """A bundle with its weights prepared, and a translator for each number of alternatives."""

    def __init__(self, bundle: Bundle, precision: TranslationPrecision) -> None:
        self.bundle = bundle
        self.usual: UsualTexts = usual_texts(bundle)
        self._wider: dict[int, BatchTranslator] = {}
        self.aligner = Aligner(bundle.model, bundle.tokenizers)
        self.scorer = Scorer(bundle.model, bundle.tokenizers)
        self.first = _alone(
            BatchTranslator(bundle.model, bundle.tokenizers, bundle.settings.decoding, precision=precision)
        )
        self.first.engine.ready()
        if self.usual.source_language or self.usual.target_language:
            can_tell_languages()  # loads the package once, before there are copies, and not at the first answer of each

    def translator(self, best: int) -> BatchTranslator:
        """The bundle's own search, with a beam that is wide enough."""
        own = self.bundle.settings.decoding
        if best == own.best:
            return self.first
        if best not in self._wider:
            self._wider[best] = self._made(best)
        return self._wider[best]

    def _made(self, best: int) -> BatchTranslator:
        own = self.bundle.settings.decoding
        settings = settings_over(own, {"best": best, "beam": max(best, own.beam)})
        made = _alone(BatchTranslator(self.bundle.model, self.bundle.tokenizers, settings))
        made.engine = self.first.engine  # its prepared weights
        return made

    def answers(self, jobs: Sequence[Job], show: Show, given_up: GivenUp) -> list[list[dict[str, Any]]]:
        """For each text its best translations, the first one with its flags; `show` gets the parts of a stream."""
        texts, first = [job["text"] for job in jobs], jobs[0]

        def is_given_up(place: int) -> Callable[[], bool]:
            return lambda: place in given_up()

        if first["tree"] or first["trace"]:
            return [[self._shown_search(job, is_given_up(place))] for place, job in enumerate(jobs)]
        requests = [Request(**{key: _listed(value) for key, value in job["constraints"].items()}) for job in jobs]
        translator = self.translator(first["best"])
        if first["stream"]:
            found = [[translator.stream(texts[0], lambda piece: show(0, piece), requests[0], given_up)]]
        else:
            found = translator.translate(texts, requests, given_up=given_up)
        ranked = [flagged(text, best, self.usual) for text, best in zip(texts, found, strict=True)]
        answers = [[shown(one) for one in best] for best in ranked]
        if first["align"]:
            self._add_alignments(texts, answers, explain=first["explain"])
        if asked := first["attention"]:
            for place, (text, (own, *_), (best, *_)) in enumerate(zip(texts, found, answers, strict=True)):
                best["attention"] = attention_answer(self.bundle, text, own, asked, is_given_up(place))
        if count := first["next_pieces"]:
            listed = translator.alternatives(texts, requests, position=first["position"], count=count)
            for (best, *_), pieces in zip(answers, listed, strict=True):
                best["next_pieces"] = list(map(asdict, pieces))
        return answers

    def _shown_search(self, job: Job, is_given_up: Callable[[], bool]) -> dict[str, Any]:
        """The tree of a text's search, or the steps of its translation."""
        if tree := job["tree"]:
            return beam_answer(self.bundle, self.first.engine, job["text"], tree["beam"], is_given_up)
        return {"trace": trace_answer(self.bundle, job["text"], job["trace"]["layer"])}

    def _add_alignments(self, texts: list[str], answers: list[list[dict[str, Any]]], *, explain: bool) -> None:
        """Adds the alignments of the best translations, and with `explain` how probable their pieces are."""
        translations = [best["text"] for best, *_ in answers]
        for (best, *_), one in zip(answers, self.aligner.align(texts, translations), strict=True):
            best["alignment"] = one.to_json()
        if explain:
            scored = self.scorer.score(list(zip(texts, translations, strict=True)))
            for (best, *_), score in zip(answers, scored, strict=True):
                best["tokens"] = score.to_json()["tokens"]


def _listed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class ServedLanguageModel:
    """A bundle of a language model."""

    def __init__(self, bundle: Bundle, precision: TranslationPrecision) -> None:
        self.bundle = bundle
        self.continuer = Continuer(bundle, precision)
        self.continuer.engine.ready()

    def answers(self, jobs: Sequence[Job], show: Show, given_up: GivenUp) -> list[list[dict[str, Any]]]:
        """For each prompt its continuation; `show` gets the parts of those that are streamed."""
        prompts = [Prompt(job["text"], **job["prompt"] | {"stops": tuple(job["prompt"]["stops"])}) for job in jobs]

        def show_streamed(place: int, text: str) -> None:
            if jobs[place]["stream"]:
                show(place, text)

        first = jobs[0]
        found = self.continuer.complete(
            prompts, first["temperature"], first["top_p"], show=show_streamed, given_up=given_up
        )
        return [[asdict(one)] for one in found]


def served(bundle: Bundle, precision: TranslationPrecision) -> ServedBundle | ServedLanguageModel:
    """What answers requests by a bundle."""
    return (ServedLanguageModel if bundle.model.continues else ServedBundle)(bundle, precision)


def _alone(translator: BatchTranslator) -> BatchTranslator:
    """The same one for a process that shares its texts with no other: it searches as many as it has together.

    Of 32 captions this needs an eighth less time than smaller parts (benchmarks/load.py).
    """
    translator.batch_tokens = translator.least_tokens = SEARCH_TOKENS
    return translator


@dataclass
class _CurrentBatch:
    """The batch in work: its number, and the places of texts that nobody waits for any longer."""

    number: int
    left: set[int] = field(default_factory=set)


def work(connection: socket.socket, bundles: Mapping[str, ServedBundle | ServedLanguageModel]) -> None:
    """Answers batches until the other side has ended."""
    while (message := receive(connection)) is not None:
        if "jobs" in message:
            bundle = bundles[message["jobs"][0]["bundle"]]
            send(connection, {"batch": message["batch"], **_answer(connection, bundle, message)})


def _answer(
    connection: socket.socket, served: ServedBundle | ServedLanguageModel, asked: Mapping[str, Any]
) -> dict[str, Any]:
    batch = _CurrentBatch(asked["batch"])

    def given_up() -> Collection[int]:
        while select.select([connection], [], [], 0)[0]:
            message = receive(connection)
            if message is None:  # nobody is there any longer
                raise SystemExit
            if message.get("left_batch") == batch.number:
                batch.left.update(message["places"])
        return batch.left

    def show(place: int, piece: str) -> None:
        if piece:
            send(connection, {"batch": batch.number, "place": place, "piece": piece})

    try:
        if "map" in asked["jobs"][0]:
            return {"answers": [[map_answer(served.bundle, asked["jobs"][0])]]}
        return {"answers": served.answers(asked["jobs"], show, given_up)}
    except OpenworkError as error:
        return {"error": error.sentence}
    except Exception as error:  # the process goes on: another batch may be all right
        LOG.exception("a batch failed")
        return {"error": f"{type(error).__name__} in the process that worked on this"}
