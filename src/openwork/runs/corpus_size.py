"""What of a corpus decides how it is best trained on: its pairs, its characters, and into how many pieces they fall."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.records import Pair
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings

SAMPLE = 20_000  # pairs of which a vocabulary is learnt on trial: seconds
MOST_CHARACTERS = 4_000_000  # of the sample


@dataclass(frozen=True)
class CorpusSize:
    """What the choice depends on. `used`: how often each side has each character; `sample`: pairs drawn by chance.

    `trained`: the share of the pairs that is trained on, the others being held out.
    """

    pairs: int
    used: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    sample: tuple[Pair, ...] = ()
    trained: float = 1.0

    @property
    def characters(self) -> int:
        """Of both sides together."""
        return sum(side.total() for side in self.used)


def measure(pairs: Iterable[Pair]) -> CorpusSize:
    """Counts a corpus in one reading."""
    generator = Random(0)
    used = Counter[str](), Counter[str]()
    sample: list[Pair] = []
    count = 0
    for count, pair in enumerate(pairs, start=1):
        for counts, text in zip(used, pair, strict=True):
            counts.update(text)
        if count <= SAMPLE:
            sample.append(pair)
        elif (place := generator.randrange(count)) < SAMPLE:
            sample[place] = pair
    characters = sum(len(text) for pair in sample for text in pair)
    return CorpusSize(count, used, tuple(sample[:: max(1, -(-characters // MOST_CHARACTERS))]))


def updates_a_pass(corpus: CorpusSize, text: TextSettings, batches: BatchSettings) -> float:
    """How many batches the whole corpus makes with a vocabulary as the settings want it; at least a part of one.

    The vocabulary is learnt from the sample, and the sample is divided into batches as the training does it.
    """
    if not corpus.sample:
        return 1.0
    sides = [pair.source for pair in corpus.sample], [pair.target for pair in corpus.sample]
    tokenizers = train_pair(*sides, text)
    lengths = _lengths(tokenizers.source.encode_batch(sides[0])), _lengths(tokenizers.target.encode_batch(sides[1]))
    plan = BatchPlan(*lengths, batches, seed=0)
    return len(plan.epoch(0)) * corpus.pairs * corpus.trained / len(corpus.sample)


def _lengths(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.array([len(row) for row in rows], np.int64)
