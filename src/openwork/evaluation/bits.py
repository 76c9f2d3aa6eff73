"""Bits per character of a text: by a bundle's language model, and by n-gram models trained on another text.

Every model gives a whole line a probability, so models with different vocabularies can be compared by characters. The
end of a line is predicted as well and counts as one character.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.lines import OnProgress, ignore_progress
from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.inference.scorer import Scorer
from openwork.metrics.kneser_ney import KneserNey
from openwork.metrics.significance import ScoreInterval

BOOTSTRAP, SEED = 1000, 0  # resamplings of the lines for the 95 % intervals
ENCODED, SCORED = 4096, 512  # lines at a time
BYTES = 256

Encode = Callable[[Sequence[str]], Iterable[Sequence[int]]]


@dataclass(frozen=True)
class Bits:
    """Bits of each line under each model, the bundle's first, and its characters with the line's end."""

    lines: Mapping[str, NDArray[np.float64]]
    characters: NDArray[np.int64]
    left_out: int = 0

    def figures(self) -> dict[str, ScoreInterval]:
        """Bits per character of each model, and the difference of the first to each other, over resampled lines."""
        (first, bits), *others = self.lines.items()
        differences = {f"{first} - {name}": bits - other for name, other in others}
        return {name: self._figure(values) for name, values in {**self.lines, **differences}.items()}

    def _figure(self, bits: NDArray[np.float64]) -> ScoreInterval:
        """Each resample has the same lines for both models, so a difference has an interval of its own."""
        draws = np.random.default_rng(SEED).integers(0, len(bits), (BOOTSTRAP, len(bits)))
        drawn = bits[draws].sum(1) / self.characters[draws].sum(1)
        low, high = np.percentile(drawn, (2.5, 97.5))
        return ScoreInterval(float(bits.sum() / self.characters.sum()), float(low), float(high))

    def report_lines(self) -> list[str]:
        found = self.figures()
        width = max(map(len, found))
        lines = [
            msg(f"{name:<{width}}  {one.value:7.4f} bits a character  (95 %: {one.low:.4f} to {one.high:.4f})")
            for name, one in found.items()
        ]
        total = int(self.characters.sum())
        return [*lines, msg(f"{len(self.characters):,} lines, {total:,} characters, each line's end counted as one")]

    def to_json(self) -> dict[str, object]:
        return {
            "lines": len(self.characters),
            "characters": int(self.characters.sum()),
            "left_out": self.left_out,
            "bits_per_character": {name: asdict(one) for name, one in self.figures().items()},
        }


def bits_of(
    bundle: Bundle,
    lines: Sequence[str],
    training_lines: Iterable[str] | None = None,
    order: int = 5,
    advanced: OnProgress = ignore_progress,
) -> Bits:
    """Bits of `lines` under the bundle, and under n-gram models of its pieces and of bytes from `training_lines`.

    Lines that the bundle cannot score are left out for all models. DataError if none is left.
    """
    scorer, totals = Scorer(bundle.model, bundle.tokenizers), []
    for first in range(0, len(lines), SCORED):
        some = lines[first : first + SCORED]
        totals += [one.total for one in scorer.score([("", line) for line in some])]
        advanced(len(some))
    kept = [place for place, total in enumerate(totals) if math.isfinite(total)]
    texts = [lines[place] for place in kept]
    if not texts:
        raise DataError(
            "there is no line that the model can score",
            why="the text is empty, or its lines are too long or have pieces that the vocabulary lacks",
            hint="name a text like the one that the model was trained on",
            code="D121",
        )
    nats = {"the bundle": np.array([totals[place] for place in kept])}
    if training_lines is not None:
        training = list(training_lines)
        encode, size = bundle.tokenizers.target.encode_batch, bundle.tokenizers.target.vocabulary_size
        outcomes = size - len(SYMBOL_IDS.forbidden)  # as in a search
        of_pieces = KneserNey.learn(_encoded(training, encode), size, outcomes, order)
        nats[f"{order}-gram, pieces"] = of_pieces.log_probabilities(_encoded(texts, encode))
        of_bytes = KneserNey.learn((text.encode() for text in training), BYTES, BYTES + 1, order)
        nats[f"{order}-gram, bytes"] = of_bytes.log_probabilities(text.encode() for text in texts)
    characters = np.array([len(text) + 1 for text in texts])
    bits = {name: -values / math.log(2) for name, values in nats.items()}
    return Bits(bits, characters, len(lines) - len(kept))


def _encoded(texts: Sequence[str], encode: Encode) -> Iterator[Sequence[int]]:
    for first in range(0, len(texts), ENCODED):
        yield from encode(texts[first : first + ENCODED])
