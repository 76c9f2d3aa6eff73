"""Which translations should not be trusted, told from the text and its score alone.

    empty       nothing is said for something
    loop        a word or phrase that comes again and again
    copied      the source as it is
    length      far shorter or longer than what was asked, in pieces
    unfinished  the length limit came before the end
    unsure      the model gives its own words little probability

A flag is no proof. `benchmarks/guard.py` counts how many good translations are flagged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from openwork.text.scripts import plain_words

EMPTY, LOOP, COPIED, LENGTH, UNFINISHED, UNSURE = "empty", "loop", "copied", "length", "unfinished", "unsure"

LONGEST_PHRASE = 6  # words of a phrase that may loop
REPEATS = {1: 4, 2: 3}  # times in a row that a phrase of so many words may not come
REPEATS_OF_LONGER = 3
LEAST_PIECES = 8  # of source and target together: shorter texts may have any ratio
RATIO = 3.0  # pieces of one side for one of the other
LEAST_COPIED = 4  # words: shorter texts may be names, numbers, the same in both languages
UNSURE_BELOW = -1.6  # mean log-probability of a piece, the end symbol counted


@dataclass(frozen=True)
class Said:
    """A translation as the guard sees it: its pieces are counted with the end symbol."""

    source: str
    text: str
    source_pieces: int
    pieces: int
    log_probability: float
    finished: bool = True


def flags(said: Said) -> tuple[str, ...]:
    """What speaks against it, in the order above; nothing for a source without a visible character."""
    if not said.source.strip():
        return ()
    if not said.text.strip():
        return (EMPTY,)
    words = plain_words(said.text)
    own = plain_words(said.source)
    lengths = sorted((said.source_pieces, said.pieces))
    found = (
        (LOOP, loops(words) and not loops(own)),
        (COPIED, words == own and len(own) >= LEAST_COPIED),
        (LENGTH, sum(lengths) >= LEAST_PIECES and lengths[1] > RATIO * lengths[0]),
        (UNFINISHED, not said.finished),
        (UNSURE, said.log_probability / max(said.pieces, 1) < UNSURE_BELOW),
    )
    return tuple(flag for flag, holds in found if holds)


def loops(words: Sequence[str]) -> bool:
    """Whether a phrase comes again and again, each time right after the last."""
    for size in range(1, LONGEST_PHRASE + 1):
        repeats = REPEATS.get(size, REPEATS_OF_LONGER)
        run = 0  # words in a row that are those of `size` words before
        for place in range(size, len(words)):
            run = run + 1 if words[place] == words[place - size] else 0
            if run >= size * (repeats - 1):
                return True
    return False
