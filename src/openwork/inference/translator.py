"""Translator of texts: a model with its tokenizers and a search."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from openwork.base.errors import wants_memory
from openwork.base.lines import OnProgress, ignore_progress
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.decoding.constraints import UNCONSTRAINED, SentenceConstraints
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.fixed.search import nothing_meanwhile
from openwork.decoding.left_to_right import OnToken
from openwork.decoding.rescore import alternatives
from openwork.decoding.scoring import GivenUp, Hypothesis, length_limits, nothing_given_up
from openwork.decoding.search import decode
from openwork.decoding.search_recorder import SearchRecorder
from openwork.decoding.settings import DecodingSettings, TranscriptSettings
from openwork.inference.batches import batches, batches_of
from openwork.inference.drafts import Drafts
from openwork.inference.engine import Engine, TranslationPrecision
from openwork.inference.fixed.overlapping import overlapping
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.inference.requests import NOTHING, Constrainer, Request, opening_of
from openwork.inference.reranking import agreements
from openwork.inference.shortlists import Shortlist, in_whole_vocabulary
from openwork.inference.translation import NO_TRANSLATION, Alternative, Translation
from openwork.machine.card import card_of
from openwork.models.interfaces import SequenceModel, StepModel
from openwork.text.pair import TokenizerPair
from openwork.text.placeholders import Spans

BATCH_TOKENS = 4096  # padded source positions times hypotheses that are searched together
LEAST_TOKENS = 512  # to which batches shrink towards the end, so that processes that share them finish together
# On a GPU they shrink so that there are several: a batch takes as many steps as its longest sentence, and the results
# of one are read during the next.
GPU_LEAST_TOKENS = 16_384
REPLACEMENT = "\ufffd"  # what incomplete characters are decoded to


Present = Callable[[Sequence[Hypothesis], "_Source"], list[Translation]]


@dataclass(frozen=True)
class _Source:
    """A source as ids without its end symbol, or as numbers, its placeholders, and the request for its translation.

    `place`: among the texts that are translated together.
    """

    place: int
    ids: Any
    spans: Spans
    cut: bool
    request: Request
    constraints: SentenceConstraints


def _left_among(sources: Sequence[_Source], given_up: GivenUp) -> GivenUp:
    """Which of these sources nobody waits for any longer, by their places among them."""

    def left() -> Collection[int]:
        places = given_up()
        return [number for number, source in enumerate(sources) if source.place in places] if places else ()

    return left


class StreamedText:
    """Turns pieces into new text, one by one; the bytes of a character wait for the last one."""

    def __init__(self, tokenizers: TokenizerPair, spans: Spans) -> None:
        self.tokenizers = tokenizers
        self.spans = spans
        self.pieces: list[int] = []
        self.shown = ""

    def add(self, piece: int) -> str:
        """The text that can be shown now; empty while a character is incomplete."""
        self.pieces.append(piece)
        return self._new(self._text().rstrip(REPLACEMENT))

    def rest(self) -> str:
        """The text that is left when no piece follows."""
        return self._new(self._text())

    def _text(self) -> str:
        return self.tokenizers.decode_target(self.pieces, self.spans).text

    def _new(self, text: str) -> str:
        new = text[len(self.shown) :]
        self.shown += new
        return new


class BatchTranslator:
    """Translates texts, or what else the model reads, in batches of like lengths; the results are in their order."""

    def __init__(
        self,
        model: SequenceModel | Ensemble,
        tokenizers: TokenizerPair,
        decoding: DecodingSettings,
        *,
        precision: TranslationPrecision = "float32",
        shortlist: Shortlist | None = None,
        transcript: TranscriptSettings | None = None,
        draft: SequenceModel | None = None,
    ) -> None:
        """`draft`: a small model of the same vocabulary, which proposes what greedy search checks."""
        self.engine = Engine(model, precision)
        self.drafts = None if draft is None else Drafts(self.engine, draft)
        self.batch_tokens, self.least_tokens = BATCH_TOKENS, LEAST_TOKENS
        if self.engine.is_fixed and (card := card_of(self.device)) is not None:
            self.batch_tokens, self.least_tokens = card.search_tokens, GPU_LEAST_TOKENS
        self.shortlist, self.opening = shortlist, opening_of(transcript)
        self.tokenizers = tokenizers
        self.sources = batches_of(tokenizers.encoder)
        self.decoding, self.maximum_length = decoding, self.sources.longest
        self.continues, limit = model.continues, model.maximum_length
        if limit is not None:  # learned positions end there, on both sides or for both together
            most = min(decoding.maximum_length, limit // 2 if self.continues else limit)
            if self.sources.ends:
                self.maximum_length = min(self.maximum_length, limit - most + 1 if self.continues else limit)
            self.decoding = decoding.model_copy(update={"maximum_length": most})
        self.constrainer = Constrainer(tokenizers)

    @classmethod
    def of(cls, bundle: Bundle, decoding: DecodingSettings | None = None) -> "BatchTranslator":
        """The translator of a bundle, with the bundle's own search settings unless others are given."""
        settings = bundle.settings
        return cls(bundle.model, bundle.tokenizers, decoding or settings.decoding, transcript=settings.transcript)

    @property
    def device(self) -> torch.device:
        return self.engine.device

    def translate(
        self,
        texts: Sequence[Any],
        requests: Sequence[Request] | None = None,
        *,
        advanced: OnProgress = ignore_progress,
        given_up: GivenUp = nothing_given_up,
        recorder: SearchRecorder | None = None,
    ) -> list[list[Translation]]:
        """For each text its best translations, best first; a text without a visible character gives itself.

        A model that continues its source continues such a text too. `requests` are those of each text, besides what
        the settings ask of all; one that cannot be met gives an empty translation with its `problem`. `advanced` gets
        the number of texts of each batch; a text that is `given_up` leaves its search at the next step. The
        search of one text can be recorded. Sources that are no text are read as many at a time as fit into memory.
        """
        size = len(texts) if self.sources.ends else self.tokenizers.encoder.at_once
        if len(texts) > size:
            parts = [slice(first, first + size) for first in range(0, len(texts), size)]
            each = [self.translate(texts[p], requests[p] if requests else None, advanced=advanced) for p in parts]
            return [translations for part in each for translations in part]
        results = [[Translation(text if isinstance(text, str) else "")] * self.decoding.best for text in texts]
        sources = self._sources(texts, requests)
        for place, source in sources.items():
            if isinstance(source, str):
                results[place] = [Translation("", finished=False, problem=source)]
        kept = {place: source for place, source in sources.items() if isinstance(source, _Source)}
        lengths = {place: len(source.ids) + self.sources.ends for place, source in kept.items()}
        planned = list(batches(lengths, self.batch_tokens // self.decoding.hypotheses, least=self.least_tokens))
        wide = self.decoding
        if wide.minimum_bayes_risk != "none":  # the best are chosen among all hypotheses
            wide = wide.model_copy(update={"best": wide.hypotheses})
        model, gathered = self.engine.ready(), [[kept[place] for place in batch] for batch in planned]
        options = {"given_up": given_up, "recorder": recorder}
        if self.engine.is_fixed:
            found = overlapping(partial(self._started, model, wide, self._ranked, **options), gathered)
        else:
            found = self.engine.in_turn(partial(self._search, model, wide, self._ranked, **options), gathered)
        for batch, translations in zip(planned, found, strict=True):
            for place, best in zip(batch, translations, strict=True):
                results[place] = best
            advanced(len(batch))
        return results

    def best(self, texts: Sequence[Any]) -> list[str]:
        return [translations[0].text for translations in self.translate(texts)]

    def stream(
        self,
        text: str,
        show: Callable[[str], None],
        request: Request = NOTHING,
        given_up: GivenUp = nothing_given_up,
    ) -> Translation:
        """The translation of one text, shown piece by piece while greedy search or sampling finds it.

        The shown pieces together are the text of the result.
        """
        source = self._sources([text], [request]).get(0)
        if source is None:
            show(text)
            return Translation(text)
        if isinstance(source, str):
            return Translation("", finished=False, problem=source)
        streamed = StreamedText(self.tokenizers, source.spans)
        one = {"beam": 1, "best": 1, "groups": 1, "coverage_penalty": 0.0, "samples": min(self.decoding.samples, 1)}

        def on_token(sentence: int, token: int) -> None:
            if token != SYMBOL_IDS.end:
                show(streamed.add(token))

        settings = self.decoding.model_copy(update=one)
        (found,) = self._search(
            self.engine.ready(), settings, self._translations, [source], on_token=on_token, given_up=given_up
        )
        show(streamed.rest())
        return found[0] if found else Translation("", finished=False, problem=NO_TRANSLATION)

    def alternatives(
        self, texts: Sequence[str], requests: Sequence[Request] | None = None, *, position: int, count: int
    ) -> list[list[Alternative]]:
        """For each text the `count` most probable pieces after the first `position` pieces of its translation.

        Each has its probability and the best translation that contains it there. A text without a translation has
        none.
        """
        sources = self._sources(texts, requests)
        found: list[list[Alternative]] = [[] for _ in texts]
        for place, (best, *_) in enumerate(self.translate(texts, requests)):
            source = sources.get(place)
            if isinstance(source, _Source) and not best.problem:
                found[place] = self._alternatives(source, best.pieces[:position], count)
        return found

    def _alternatives(self, source: _Source, prefix: tuple[int, ...], count: int) -> list[Alternative]:
        model = self.engine.ready()
        with torch.inference_mode(), self.engine.computing():
            (following,) = alternatives(model, *self.sources.padded([source.ids], self.device), [prefix], count)
        going_on = [(*prefix, piece) for piece, _ in following if piece != SYMBOL_IDS.end]
        longer = [replace(source, constraints=replace(source.constraints, prefix=one)) for one in going_on]
        plain = self.decoding.model_copy(update={"best": 1, "samples": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0})
        wholes = iter(self._search(model, plain, self._translations, longer) if longer else ())
        listed = []
        for piece, probability in following:
            whole = [self.tokenizers.decode_target(prefix, source.spans)] if piece == SYMBOL_IDS.end else next(wholes)
            listed += [Alternative(self.tokenizers.target.piece(piece), probability, one.text) for one in whole]
        return listed

    def _sources(self, texts: Sequence[Any], requests: Sequence[Request] | None) -> dict[int, _Source | str]:
        """The texts to be translated by their places; a sentence in place of one whose request cannot be met."""
        places = [
            place for place, text in enumerate(texts) if self.continues or not isinstance(text, str) or text.strip()
        ]
        encoded = self.tokenizers.encode_sources([texts[place] for place in places])
        limit = self.maximum_length - self.sources.ends
        found: dict[int, _Source | str] = {}
        for place, (ids, spans) in zip(places, encoded, strict=True):
            request = (requests[place] if requests else NOTHING).merged_with(self.decoding, self.opening)
            constraints, problem = SentenceConstraints(), ""
            if request:
                length = torch.tensor([min(len(ids), limit) + self.sources.ends])
                most = int(length_limits(length, self.decoding))
                constraints, problem = self.constrainer.constraints(request, spans, most)
            kept = ids[-limit:] if self.continues else ids[:limit]  # of a prompt the end matters
            found[place] = problem or _Source(place, kept, spans, len(ids) > limit, request, constraints)
        return found

    def _search(
        self,
        model: StepModel,
        settings: DecodingSettings,
        present: Present,
        sources: Sequence[_Source],
        *,
        on_token: OnToken | None = None,
        given_up: GivenUp = nothing_given_up,
        recorder: SearchRecorder | None = None,
    ) -> list[list[Translation]]:
        """Searches all sources together; `present` makes translations of the hypotheses of one.

        Where memory is not enough for all at once, one half is searched after the other.
        """
        left, constraints = _left_among(sources, given_up), [source.constraints for source in sources]
        given = constraints if any(one != UNCONSTRAINED for one in constraints) else None
        try:
            with torch.inference_mode(), self.engine.computing():
                ids, lengths = self.sources.padded([source.ids for source in sources], self.device)
                is_plain = settings.beam == 1 and not (settings.samples or given or on_token or recorder)
                is_whole = self.shortlist is None or given or on_token or recorder
                if self.drafts is not None and is_plain:
                    found = self.drafts.search(ids, lengths, settings)
                elif is_whole or not isinstance(model, PreparedTransformer):
                    found = decode(
                        model, ids, lengths, settings, constraints=given, on_token=on_token, given_up=left,
                        recorder=recorder,
                    )  # fmt: skip
                else:
                    assert self.shortlist is not None
                    pieces = self.shortlist.pieces(ids)
                    among = decode(model.among(pieces), ids, lengths, settings, given_up=left)
                    found = in_whole_vocabulary(among, pieces)
            return list(map(present, found, sources))
        except (RuntimeError, MemoryError) as error:
            if len(sources) < 2 or not wants_memory(error):
                raise
        # here, not above: an error that is being handled keeps all that was computed until then
        search = partial(self._search, model, settings, present, given_up=given_up)
        return [translations for half in self._halves(sources) for translations in search(half)]

    def _started(
        self,
        model: StepModel,
        settings: DecodingSettings,
        present: Present,
        sources: Sequence[_Source],
        *,
        given_up: GivenUp = nothing_given_up,
        recorder: SearchRecorder | None = None,
        meanwhile: Callable[[], None] = nothing_meanwhile,
    ) -> Callable[[], list[list[Translation]]]:
        """The same in buffers of fixed sizes where that can be; the function makes the translations.

        `meanwhile` may be called while the device is at work.
        """
        is_constrained = any(source.constraints != UNCONSTRAINED for source in sources)
        found = None
        try:
            if not (is_constrained or recorder or (self.drafts and settings.beam == 1)):
                with torch.inference_mode(), self.engine.computing():
                    # the engine takes numbers to the device in its own way
                    given = self.sources.padded([source.ids for source in sources], torch.device("cpu"))
                    left = _left_among(sources, given_up)
                    found = self.engine.fixed_search(*given, settings, left, meanwhile)
        except (RuntimeError, MemoryError) as error:
            if len(sources) < 2 or not wants_memory(error):
                raise
            search = partial(self._started, model, settings, present, given_up=given_up)
        else:
            if found is None:
                made = self._search(model, settings, present, sources, given_up=given_up, recorder=recorder)
                return lambda: made
            return lambda: list(map(present, found(), sources))
        parts = [search(half) for half in self._halves(sources)]
        return lambda: [translations for part in parts for translations in part()]

    def _halves(self, sources: Sequence[_Source]) -> tuple[Sequence[_Source], Sequence[_Source]]:
        """The sources in two parts, for which memory is made free."""
        self.engine.free_memory()
        middle = len(sources) // 2
        return sources[:middle], sources[middle:]

    def _translations(self, hypotheses: Sequence[Hypothesis], source: _Source) -> list[Translation]:
        """The hypotheses as translations, in their order."""
        found = []
        for one in hypotheses:
            text = self.tokenizers.decode_target(one.tokens, source.spans)
            found.append(
                Translation(
                    text.text, one.score, one.log_probability, one.finished, source.cut,
                    missing=text.missing, pieces=one.tokens, source_pieces=len(source.ids) + self.sources.ends,
                )
            )  # fmt: skip
        return found

    def _ranked(self, hypotheses: Sequence[Hypothesis], source: _Source) -> list[Translation]:
        """The best translations, by minimum Bayes risk if so set; a problem where there is none."""
        # pieces of an external tokenizer may form a forbidden text that the search does not see
        forbidden = list(filter(None, source.request.forbidden))
        decode = self.tokenizers.decode_target
        kept = [one for one in hypotheses if not any(text in decode(one.tokens).text for text in forbidden)]
        found = self._translations(kept, source)
        if not found:
            return [Translation("", finished=False, problem=NO_TRANSLATION)]
        metric = self.decoding.minimum_bayes_risk
        if metric != "none":
            logs = torch.tensor([one.log_probability for one in found], dtype=torch.float64)
            weights = torch.full_like(logs, 1 / len(found)) if self.decoding.samples else logs.softmax(0)
            scores = agreements([one.text for one in found], weights.tolist(), metric)
            scored: dict[str, Translation] = {}
            for one, score in zip(found, scores, strict=True):
                scored.setdefault(one.text, replace(one, score=score))
            found = sorted(scored.values(), key=lambda one: -one.score)
        return found[: self.decoding.best]
