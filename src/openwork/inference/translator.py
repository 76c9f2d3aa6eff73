"""Text in, text out: a model with its tokenizers and a way to search."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from openwork.bundles.bundle import Bundle
from openwork.decoding.alternatives import alternatives
from openwork.decoding.bayes_risk import equal_weights, probability_weights
from openwork.decoding.constraints import UNCONSTRAINED, SentenceConstraints
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.left_to_right import Listener
from openwork.decoding.scoring import length_limits
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.decoding.shortlist import Shortlist, in_whole_vocabulary
from openwork.inference.engine import Engine, TranslationPrecision
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.inference.requests import NOTHING, Constrainer, Request
from openwork.inference.reranking import agreements
from openwork.inference.streaming import GrowingText
from openwork.models.interfaces import SequenceModel, StepModel
from openwork.text.pair import TokenizerPair
from openwork.text.placeholders import Restored, Spans

BATCH_TOKENS = 4096  # padded source positions times hypotheses that are searched together
SHARES, LEAST_TOKENS = 4, 512  # a batch has at most this share of what is left, unless that is fewer tokens
LONGEST_SOURCE = 1024  # tokens; what is longer is cut there, and flagged


@dataclass(frozen=True, repr=False)
class Translation:
    """One translation. `score` ranks alternatives; `cut` says that the source was too long and lost its end.

    `missing`: the placeholders of the source that the model left out. `problem` says why there is no translation: what
    was asked of it cannot be met. `pieces` are the ids of the text; `source_pieces`: how many the source has, with its
    end symbol. `flags`: what speaks against it (`guard.py`), where it was looked at.
    """

    text: str
    score: float = 0.0
    log_probability: float = 0.0
    finished: bool = True
    cut: bool = False
    missing: Spans = ()
    problem: str = ""
    pieces: tuple[int, ...] = ()
    source_pieces: int = 0
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        doubts = [*(["cut"] if self.cut else []), *([self.problem] if self.problem else []), *self.flags]
        return f"Translation({self.text!r}, score={self.score:.4f}{''.join(f', {doubt}' for doubt in doubts)})"


@dataclass(frozen=True)
class Alternative:
    """What could come next after the beginning of a translation, and what the whole would then be."""

    piece: str
    probability: float
    text: str


@dataclass(frozen=True)
class _Source:
    """A source as ids, without its end symbol, its placeholders, and what is asked of its translation."""

    ids: list[int]
    spans: Spans
    cut: bool
    request: Request
    constraints: SentenceConstraints


def _impossible(problem: str = "no translation meets all that is asked of it") -> Translation:
    """Stands where there is none."""
    return Translation("", finished=False, problem=problem)


def _ignore(count: int) -> None:
    """For those who do not watch."""


class BatchTranslator:
    """Translates texts in batches of like lengths; the order of the results is that of the texts."""

    def __init__(
        self,
        model: SequenceModel | Ensemble,
        tokenizers: TokenizerPair,
        decoding: DecodingSettings,
        *,
        precision: TranslationPrecision = "float32",
        shortlist: Shortlist | None = None,
    ) -> None:
        self.engine = Engine(model, precision)
        self.shortlist = shortlist
        self.tokenizers = tokenizers
        self.decoding = decoding
        self.longest = LONGEST_SOURCE
        self.continues = model.continues
        if model.longest is not None:  # learned positions end there, on both sides or for both together
            most = model.longest // 2 if self.continues else model.longest
            most = min(decoding.maximum_length, most)
            self.longest = min(self.longest, model.longest - most + 1 if self.continues else model.longest)
            self.decoding = decoding.model_copy(update={"maximum_length": most})
        self.constrainer = Constrainer(tokenizers)

    @classmethod
    def of(cls, bundle: Bundle, decoding: DecodingSettings | None = None) -> "BatchTranslator":
        """The translator of a bundle, which searches as the bundle's settings say, or as `decoding` does."""
        return cls(bundle.model, bundle.tokenizers, decoding or bundle.settings.decoding)

    @property
    def device(self) -> torch.device:
        """Where the model's weights are."""
        return next(self.engine.model.parameters()).device

    def translate(
        self,
        texts: Sequence[str],
        requests: Sequence[Request] | None = None,
        *,
        advanced: Callable[[int], None] = _ignore,
    ) -> list[list[Translation]]:
        """For each text its best translations, best first; a text without a visible character gives itself.

        Not so where a model continues its source: it begins where there is nothing.

        `requests` say what is asked of each text's translation besides what the settings ask of all; what cannot be
        met gives an empty translation with its `problem`. `advanced` is told after each batch how many texts were
        translated in it.
        """
        results: list[list[Translation]] = [[Translation(text)] * self.decoding.best for text in texts]
        sources: dict[int, _Source] = {}
        for place, source in self._sources(texts, requests):
            if isinstance(source, _Source):
                sources[place] = source
            else:
                results[place] = [_impossible(source)]
        batches = list(self._batches(sources))
        model, wide = self.engine.ready(), self._wide()

        def translated(batch: list[int]) -> list[list[Translation]]:
            chosen = [sources[place] for place in batch]
            found = zip(chosen, self._search(model, chosen, wide), strict=True)
            return [self._translations(hypotheses, source) for source, hypotheses in found]

        for batch, found in zip(batches, self.engine.in_turn(translated, batches), strict=True):
            for place, translations in zip(batch, found, strict=True):
                results[place] = translations
            advanced(len(batch))
        return results

    def _translations(self, hypotheses: Sequence[Hypothesis], source: _Source) -> list[Translation]:
        kept = [hypothesis for hypothesis in hypotheses if not self._is_forbidden(hypothesis, source)]
        return self._rank([self._present(hypothesis, source) for hypothesis in kept])

    def best(self, texts: Sequence[str]) -> list[str]:
        """The best translation of each text."""
        return [translations[0].text for translations in self.translate(texts)]

    def stream(self, text: str, show: Callable[[str], None], request: Request = NOTHING) -> Translation:
        """The first translation of one text, shown piece by piece as it is written: greedily, or drawn as a sample.

        What was shown is in the end the text that is given back.
        """
        if not text.strip() and not self.continues:
            show(text)
            return Translation(text)
        ((_, source),) = self._sources([text], [request])
        if not isinstance(source, _Source):
            return _impossible(source)
        growing = GrowingText(self.tokenizers, source.spans)
        one = {"beam": 1, "best": 1, "groups": 1, "coverage_penalty": 0.0, "samples": min(self.decoding.samples, 1)}

        def hear(sentence: int, token: int) -> None:
            if token != self.tokenizers.target.end_id:
                show(growing.add(token))

        (hypotheses,) = self._search(self.engine.ready(), [source], self.decoding.model_copy(update=one), hear)
        show(growing.rest())
        return self._present(hypotheses[0], source) if hypotheses else _impossible()

    def alternatives(
        self, texts: Sequence[str], position: int, count: int, requests: Sequence[Request] | None = None
    ) -> list[list[Alternative]]:
        """For each text the `count` most probable pieces after the first `position` ones of its translation.

        Each comes with its probability and with the best translation that goes on so. There are none where there is
        no translation.
        """
        found = self.translate(texts, requests)
        sources = dict(self._sources(texts, requests))
        given: list[list[Alternative]] = []
        for place, (best, *_) in enumerate(found):
            source = sources.get(place)
            given.append(self._alternatives(source, best, position, count) if isinstance(source, _Source) else [])
        return given

    def _alternatives(self, source: _Source, best: Translation, position: int, count: int) -> list[Alternative]:
        if best.problem:
            return []
        beginning = best.pieces[:position]
        end = self.tokenizers.target.end_id
        model = self.engine.ready()
        with torch.inference_mode(), self.engine.computing():
            (next_ones,) = alternatives(model, *self._tensors([source]), [beginning], count)
        ways = [self._going_on(source, (*beginning, one)) for one, _ in next_ones if one != end]
        plain = self.decoding.model_copy(update={"best": 1, "samples": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0})
        wholes = iter(self._search(model, ways, plain)) if ways else iter(())
        listed = []
        for piece, probability in next_ones:
            whole = [beginning] if piece == end else [hypothesis.tokens for hypothesis in next(wholes)]
            name = self.tokenizers.target.piece(piece)
            listed += [Alternative(name, probability, self._text(tokens, source.spans).text) for tokens in whole]
        return listed

    @staticmethod
    def _going_on(source: _Source, beginning: tuple[int, ...]) -> _Source:
        return replace(source, constraints=replace(source.constraints, prefix=beginning))

    def _sources(self, texts: Sequence[str], requests: Sequence[Request] | None) -> Iterator[tuple[int, _Source | str]]:
        """The texts that are to be translated, with their places; a sentence where what is asked cannot be met."""
        places = [place for place, text in enumerate(texts) if text.strip() or self.continues]
        limit = self.longest - 1
        for place, (ids, spans) in zip(
            places, self.tokenizers.encode_sources([texts[place] for place in places]), strict=True
        ):
            request = (requests[place] if requests else NOTHING).beside(self.decoding)
            constraints, problem = SentenceConstraints(), ""
            if request:
                length = torch.tensor([min(len(ids), limit) + 1])
                most = int(length_limits(length, self.decoding))
                constraints, problem = self.constrainer.constraints(request, spans, most)
            kept = ids[-limit:] if self.continues else ids[:limit]  # what is continued is the end
            yield place, problem or _Source(kept, spans, len(ids) > limit, request, constraints)

    def _batches(self, sources: dict[int, _Source]) -> Iterator[list[int]]:
        """Places, longest source first (so that too little memory shows at once), within the token budget.

        Towards the end the batches become smaller, so that workers who share them finish together. Their number has no
        say in it: a batch is the same for any.
        """
        lengths = {place: len(source.ids) + 1 for place, source in sources.items()}
        left = sum(lengths.values())
        batch: list[int] = []
        room = 0
        for place in sorted(sources, key=lambda place: -lengths[place]):
            if not batch:
                tokens = min(BATCH_TOKENS // self.decoding.hypotheses, max(left // SHARES, LEAST_TOKENS))
                room = tokens // lengths[place]
            batch.append(place)
            left -= lengths[place]
            if len(batch) >= room:
                yield batch
                batch = []
        if batch:
            yield batch

    def _wide(self) -> DecodingSettings:
        """The settings of the search: where the best are chosen afterwards, all hypotheses are wanted."""
        if self.decoding.minimum_bayes_risk == "none":
            return self.decoding
        return self.decoding.model_copy(update={"best": self.decoding.hypotheses})

    def _tensors(self, sources: Sequence[_Source]) -> tuple[torch.Tensor, torch.Tensor]:
        """Source ids (batch, position) with end symbols, and their lengths."""
        end, pad = self.tokenizers.source.end_id, self.tokenizers.source.pad_id
        lengths = torch.tensor([len(source.ids) + 1 for source in sources])
        longest = int(lengths.max())
        padded = torch.tensor([[*one.ids, end, *[pad] * (longest - len(one.ids) - 1)] for one in sources])
        return padded.to(self.device), lengths.to(self.device)

    def _search(
        self,
        model: StepModel,
        sources: Sequence[_Source],
        settings: DecodingSettings,
        listener: Listener | None = None,
    ) -> list[list[Hypothesis]]:
        constraints = [source.constraints for source in sources]
        wished = constraints if any(one != UNCONSTRAINED for one in constraints) else None
        with torch.inference_mode(), self.engine.computing():
            ids, lengths = self._tensors(sources)
            if self.shortlist is None or wished or listener or not isinstance(model, PreparedTransformer):
                return decode(model, ids, lengths, settings, constraints=wished, listener=listener)
            pieces = self.shortlist.pieces(ids)
            return in_whole_vocabulary(decode(model.among(pieces), ids, lengths, settings), pieces)

    def _text(self, tokens: Sequence[int], spans: Spans) -> Restored:
        # A translation is one line, whatever the model says: line breaks would shift all the lines after it.
        said = self.tokenizers.decode_target(tokens, spans)
        return replace(said, text=" ".join(said.text.splitlines()))

    def _is_forbidden(self, hypothesis: Hypothesis, source: _Source) -> bool:
        """Whether the text holds what was forbidden: only where a foreign tokenizer's pieces are not what they seem."""
        forbidden = source.request.forbidden
        return bool(forbidden) and any(text in self._text(hypothesis.tokens, ()).text for text in forbidden if text)

    def _present(self, hypothesis: Hypothesis, source: _Source) -> Translation:
        said = self._text(hypothesis.tokens, source.spans)
        return Translation(
            said.text, hypothesis.score, hypothesis.log_probability, hypothesis.finished, source.cut,
            missing=said.missing, pieces=hypothesis.tokens, source_pieces=len(source.ids) + 1,
        )  # fmt: skip

    def _rank(self, found: list[Translation]) -> list[Translation]:
        """The best of them, by another measure than the search's if so set; a problem where there is none."""
        if not found:
            return [_impossible()]
        metric = self.decoding.minimum_bayes_risk
        if metric != "none":
            logs = [one.log_probability for one in found]
            weights = equal_weights(len(found)) if self.decoding.samples else probability_weights(logs)
            scores = agreements([one.text for one in found], weights, metric)
            scored: dict[str, Translation] = {}
            for one, score in zip(found, scores, strict=True):
                scored.setdefault(one.text, replace(one, score=score))
            found = sorted(scored.values(), key=lambda one: -one.score)
        return found[: self.decoding.best]
