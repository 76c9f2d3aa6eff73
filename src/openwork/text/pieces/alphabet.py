"""Which characters a vocabulary is learnt over, and how the rare ones are kept out of the learning."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from tokenizers import Regex, pre_tokenizers

RARE = "\x00"
"""Stands for a rare character while pieces are learnt; whole text files never hold it."""
LONGEST_PIECE = 32
COMMON = 5
"""Times that a character must occur to get a piece of its own, by default."""
RARELY = 2
"""The same where too much of a text would have no piece: of what comes once, nothing can be learnt."""
LEFT_TO_BYTES = 0.003  # share of a side's characters that may have no piece; each costs up to four pieces


@dataclass(frozen=True)
class Again:
    """Lines that are read anew each time, so that no corpus must fit into memory."""

    read: Callable[[], Iterator[str]]

    def __iter__(self) -> Iterator[str]:
        return self.read()


def read_twice(lines: Iterable[str]) -> Iterable[str]:
    """The lines, readable again and again; from an iterator they are therefore kept in memory."""
    return list(lines) if iter(lines) is lines else lines


def common_characters(lines: Iterable[str], frequency: int, room: int) -> list[str]:
    """The commonest characters, of equally common ones the lower code point first, so that ties are settled."""
    counts = Counter(chain.from_iterable(lines))
    del counts[RARE]
    return by_frequency(counts, frequency)[:room]


def by_frequency(counts: Counter[str], least: int = 1) -> list[str]:
    """What occurs at least so often, the commonest first, of equally common ones the lesser by code points."""
    common = [name for name, count in counts.items() if count >= least]
    return sorted(common, key=lambda name: (-counts[name], name))


def room_for_alphabet(sides: Sequence[Counter[str]], size: int, fixed: int, most: int) -> tuple[int, int]:
    """The size of a vocabulary in which nearly all of each side's characters have a piece, and its frequency for them.

    `sides`: how often each character occurs. `size` is enough for scripts of few letters; the size stays below `most`.
    Half of a vocabulary is for characters, besides the `fixed` pieces. Where those that come five times are not enough
    of a side, those that come twice are taken in.
    """
    counts = sum(sides, Counter[str]())
    del counts[RARE]
    enough = _enough(by_frequency(counts, COMMON), sides)
    frequency = COMMON
    if enough is None:
        frequency = RARELY
        known = by_frequency(counts, RARELY)
        enough = _enough(known, sides) or len(known)
    needed = -(-(fixed + 2 * enough) // 500) * 500
    return (size, frequency) if fixed + 2 * enough <= size else (min(needed, most), frequency)


def _enough(ranked: Sequence[str], sides: Sequence[Counter[str]]) -> int | None:
    """How many of the characters, the first ones, leave little enough of each side; None where all of them do not."""
    left = [side.total() for side in sides]
    allowed = [LEFT_TO_BYTES * count for count in left]
    for number, character in enumerate([*ranked, ""]):
        if all(count <= most for count, most in zip(left, allowed, strict=True)):
            return number
        left = [count - side[character] for count, side in zip(left, sides, strict=True)]
    return None


class _RareToMark(dict[int, int]):
    """A table for `str.translate`: characters of the alphabet stay, all others become the mark."""

    def __missing__(self, code: int) -> int:
        return ord(RARE)


def without_rare(lines: Iterable[str], alphabet: Iterable[str]) -> Iterator[str]:
    """The lines with a mark for every character outside the alphabet; `words_of_common` cuts there."""
    table = _RareToMark({ord(character): ord(character) for character in alphabet})
    for line in lines:
        yield line.translate(table)


def words_of_common(pattern: str) -> pre_tokenizers.PreTokenizer:
    """Cuts lines into words by `pattern`; marks are taken out, and nothing is learnt across them."""
    return pre_tokenizers.Sequence([isolated(pattern), pre_tokenizers.Split(RARE, behavior="removed")])


def isolated(pattern: str) -> pre_tokenizers.PreTokenizer:
    """Cuts a text into what the pattern finds and what is between."""
    return pre_tokenizers.Split(Regex(pattern), behavior="isolated")
