"""How probable given translations are: the log-probability of each piece, for a bundle's model."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from openwork.decoding.rescore import score_tokens
from openwork.inference.translator import LONGEST_SOURCE
from openwork.metrics.ratio import Ratio, perplexity
from openwork.models.interfaces import SequenceModel
from openwork.text.pair import TokenizerPair

LONGEST_TARGET = 1024  # tokens with the end symbol; a part of a target would have another probability
BATCH_TOKENS = 2048  # padded target positions that are computed together: each has logits for the whole vocabulary


@dataclass(frozen=True)
class Scored:
    """One target: its pieces, the end symbol last, and the log-probability (nats) of each given those before it.

    `problem` says why it could not be scored; then there are no pieces.
    """

    pieces: tuple[str, ...] = ()
    log_probabilities: tuple[float, ...] = ()
    problem: str = ""
    cut: bool = False  # the source was too long and lost its end

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
        """Plain values; what JSON has no number for (minus infinity, NaN) is null."""
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
        reach = model.longest or max(LONGEST_SOURCE, LONGEST_TARGET)
        self.longest_source = min(LONGEST_SOURCE, reach)
        self.longest_target = min(LONGEST_TARGET, reach)

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Scored]:
        """For each (source, target) the target's probability, its end included."""
        texts = [source for source, _ in pairs], [target for _, target in pairs]
        encoded = list(self.tokenizers.encode_pairs(*texts))
        sources, targets = [source for source, _ in encoded], [target for _, target in encoded]
        results = [Scored(problem=self._problem(target)) for target in targets]
        places = [place for place, result in enumerate(results) if not result.problem]
        for batch in _batches(places, targets):
            kept = [sources[place][: self.longest_source - 1] for place in batch]
            for place, terms in zip(batch, self._terms(kept, [targets[place] for place in batch]), strict=True):
                ids = [*targets[place], self.tokenizers.target.end_id]
                pieces = tuple(map(self.tokenizers.target.piece, ids))
                results[place] = Scored(pieces, tuple(terms), cut=len(sources[place]) >= self.longest_source)
        return results

    def _problem(self, target: list[int]) -> str:
        if len(target) < self.longest_target:
            return ""
        return f"the target has {len(target)} tokens, and {self.longest_target - 1} is the most that can be scored"

    @torch.inference_mode()
    def _terms(self, sources: list[list[int]], targets: list[list[int]]) -> list[list[float]]:
        end, pad = self.tokenizers.source.end_id, self.tokenizers.source.pad_id
        device = next(self.model.parameters()).device
        longest = max(map(len, sources)) + 1
        padded = torch.tensor([[*ids, end, *[pad] * (longest - len(ids) - 1)] for ids in sources], device=device)
        lengths = torch.tensor([len(ids) + 1 for ids in sources], device=device)
        terms = score_tokens(self.model, padded, lengths, targets).tolist()
        return [row[: len(target) + 1] for row, target in zip(terms, targets, strict=True)]


def _batches(places: list[int], targets: list[list[int]]) -> Iterator[list[int]]:
    """Places, longest target first, within the token budget."""
    batch: list[int] = []
    longest = 0
    for place in sorted(places, key=lambda place: -len(targets[place])):
        longest = longest or len(targets[place]) + 1
        if batch and (len(batch) + 1) * longest > BATCH_TOKENS:
            yield batch
            batch, longest = [], len(targets[place]) + 1
        batch.append(place)
    if batch:
        yield batch
