"""Copy and reverse: two jobs whose every answer is known, to see in a minute whether a model learns at all."""

import random
from collections.abc import Callable, Iterator
from functools import partial

from openwork.data.corpora.splits import SPLITS, split_of
from openwork.data.records import Pair

SYMBOLS = "abcdefghij"  # few, so that letters repeat and their places must be learnt, not their neighbours
SHORTEST, LONGEST = 3, 12


def generate(answer: Callable[[list[str]], list[str]], split: str, count: int, seed: int = 0) -> Iterator[Pair]:
    """`count` pairs of letters with spaces between; the target is `answer` of the source.

    No sequence occurs in two splits: its hash decides where it belongs. Deterministic in (split, seed), and a longer
    run begins with the pairs of a shorter one.
    """
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is none of {SPLITS}")
    generator = random.Random(f"{split} {seed}")
    while count > 0:
        symbols = generator.choices(SYMBOLS, k=generator.randint(SHORTEST, LONGEST))
        source = " ".join(symbols)
        if split_of(source) == split:
            yield Pair(source, " ".join(answer(symbols)))
            count -= 1


def _same(symbols: list[str]) -> list[str]:
    return symbols


def _reversed(symbols: list[str]) -> list[str]:
    return symbols[::-1]


copy = partial(generate, _same)
reverse = partial(generate, _reversed)
