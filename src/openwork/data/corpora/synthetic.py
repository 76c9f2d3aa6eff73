"""Copy and reverse: two tasks with known answers, to see in a minute whether a model learns at all."""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from openwork.data.corpora.corpus import check_split, split_of
from openwork.data.records import Pair

SYMBOLS = "abcdefghij"  # few, so that letters repeat and their positions must be learned, not their neighbours
SHORTEST, LONGEST = 3, 12


def generate(answer: Callable[[list[str]], Iterable[str]], split: str, count: int, seed: int = 0) -> Iterator[Pair]:
    """`count` pairs of letters with spaces between; the target is `answer` of the source.

    No sequence occurs in two splits: its hash decides where it belongs. Deterministic in (split, seed), and a longer
    run begins with the pairs of a shorter one.
    """
    check_split(split)
    generator = random.Random(f"{split} {seed}")
    while count > 0:
        symbols: list[str] = generator.choices(SYMBOLS, k=generator.randint(SHORTEST, LONGEST))
        source = " ".join(symbols)
        if split_of(source) == split:
            yield Pair(source, " ".join(answer(symbols)))
            count -= 1


copy = partial(generate, list)
reverse = partial(generate, reversed)
