"""Scorer of given translations: the log-probability of each piece."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from openwork.base.lines import MOST_LINES
from openwork.base.messages import msg
from openwork.base.printing import json_text
from openwork.base.symbols import SYMBOL_IDS
from openwork.data.readers.lines import read_parallel
from openwork.decoding.rescore import score_tokens
from openwork.inference.batches import LONGEST, batches, batches_of
from openwork.inference.filters.lines import Answer, LineFilter
from openwork.metrics.ratio import Ratio, perplexity
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair

BLANK = "a blank line"  # the problem of one that has neither source nor target; only in JSON
BATCH_TOKENS = 2048  # padded target positions that are computed together: each has logits for the whole vocabulary


@dataclass(frozen=True)
class Scored:
    """The score of one target: its pieces with the end symbol, and the log-probability (nats) of each.

    `problem`: why it cannot be scored; then there are no pieces. `cut`: the source was too long and lost its end.
    """

    pieces: tuple[str, ...] = ()
    log_probabilities: tuple[float, ...] = ()
    problem: str = ""
    cut: bool = False

    @property
    def total(self) -> float:
        """log P(target | source), as a search gives it; NaN where nothing was scored."""
        return math.nan if self.problem else math.fsum(self.log_probabilities)

    @property
    def ratio(self) -> Ratio:
        """Negative log-likelihood and number of pieces, which add up over lines."""
        return Ratio() if self.problem else Ratio(-self.total, len(self.pieces))

    def line(self) -> str:
        """Log-probability, the same per piece, and perplexity, separated by tabs."""
        ratio = self.ratio
        return f"{self.total:.4f}\t{-ratio.value:.4f}\t{perplexity(ratio):.4f}"

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON; minus infinity and NaN are null."""
        ratio = self.ratio
        terms = zip(self.pieces, self.log_probabilities, strict=True)
        return {
            "log_probability": _finite(self.total),
            "per_token": _finite(-ratio.value),
            "perplexity": _finite(perplexity(ratio)),
            "tokens": [{"piece": piece, "log_probability": _finite(term)} for piece, term in terms],
            "source_cut": self.cut,
            "problem": self.problem,
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


class Scorer:
    """Scores pairs in batches of like lengths; the order of the results is that of the pairs."""

    def __init__(self, model: SequenceModel, tokenizers: TokenizerPair) -> None:
        self.model = model.eval()
        self.tokenizers = tokenizers
        self.sources = batches_of(tokenizers.encoder)
        longest = self.sources.longest
        self.longest_source = min(longest, model.maximum_source_length or longest)
        self.longest_target = min(LONGEST, model.maximum_length or LONGEST)  # a part would have another probability

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """For each (source, target) the probability of the target with its end symbol."""
        encoded = list(self.tokenizers.encode_pairs([source for source, _ in pairs], [target for _, target in pairs]))
        sources, targets = [source for source, _ in encoded], [target for _, target in encoded]
        results = [Scored(problem=self._problem(target)) for target in targets]
        places = [place for place, result in enumerate(results) if not result.problem]
        longest = self.longest_source - self.sources.ends
        for batch in batches({place: len(targets[place]) + 1 for place in places}, BATCH_TOKENS):
            kept = [sources[place][:longest] for place in batch]
            for place, terms in zip(batch, self._terms(kept, [targets[place] for place in batch]), strict=True):
                pieces = tuple(map(self.tokenizers.target.piece, [*targets[place], SYMBOL_IDS.end]))
                results[place] = Scored(pieces, tuple(terms), cut=len(sources[place]) > longest)
        return results

    def _problem(self, target: list[int]) -> str:
        if len(target) < self.longest_target:
            return ""
        return msg(f"the target has {len(target)} tokens, and {self.longest_target - 1} is the most that can be scored")

    @torch.inference_mode()
    def _terms(self, sources: list[Any], targets: list[list[int]]) -> list[list[float]]:
        device = next(self.model.parameters()).device
        terms = score_tokens(self.model, *self.sources.padded(sources, device), targets).tolist()
        return [row[: len(target) + 1] for row, target in zip(terms, targets, strict=True)]


class ScoreFilter:
    """Answers lines of a source and a target, with a tab between, with their scores; `whole` is that of all lines."""

    def __init__(self, scorer: Scorer, *, as_json: bool) -> None:
        self.scorer = scorer
        self.as_json = as_json
        self.whole = Ratio()
        self.lines = LineFilter(self._run, self._answer)

    def _run(self, texts: Sequence[str], _: object) -> list[Scored]:
        pairs = {place: tuple(text.split("\t")) for place, text in enumerate(texts) if text.strip()}
        kept = {place: (pair[0], pair[1]) for place, pair in pairs.items() if len(pair) == 2}
        scored = dict(zip(kept, self.scorer.score(list(kept.values())), strict=True))
        wrong = {
            place: msg(f"columns: {len(pair)}; needed are two, source and target with one tab between")
            for place, pair in pairs.items()
            if place not in kept
        }
        return [scored.get(place, Scored(problem=wrong.get(place, BLANK))) for place in range(len(texts))]

    def _answer(self, text: str, result: Scored) -> Answer:
        self.whole += result.ratio
        notes = [result.problem] if result.problem and result.problem != BLANK else []
        notes += ["too long for the model, its end was left out"] if result.cut else []
        if self.as_json:
            columns = text.split("\t")
            source, target = columns if len(columns) == 2 else (text, "")
            return Answer(json_text({"source": source, "target": target, **result.to_json()}), notes)
        return Answer("" if result.problem == BLANK else result.line(), notes)


def aligned_lines(source: Path, target: Path) -> Iterator[list[bytes]]:
    """Two aligned files in batches of such lines; DataError for what `read_parallel` refuses."""
    lines = (f"{pair.source}\t{pair.target}\n".encode() for pair in read_parallel(source, target))
    while batch := list(islice(lines, MOST_LINES)):
        yield batch
