"""What a tokenizer does with one word, step by step, as data that can be shown or compared."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Merge:
    """Two neighbouring pieces became one: the pair of the lowest `rank` that was there, the leftmost of its kind.

    `position` counts, in the pieces that the word began with, where the left one begins.
    """

    rank: int
    position: int
    left: str
    right: str


@dataclass(frozen=True)
class Match:
    """A piece that was looked for at a character of the word, longest first, and whether the vocabulary has it."""

    position: int
    piece: str
    found: bool


@dataclass(frozen=True)
class Arc:
    """One piece that fits between two characters of the word, with its score (log-probability, nats).

    `total` is the score of the best way from the word's begin to `end` that uses it last; `best` says that no other
    piece gives a better way to `end`.
    """

    begin: int
    end: int
    piece: str
    score: float
    total: float
    best: bool


Step = Merge | Match | Arc


@dataclass(frozen=True)
class WordWork:
    """One word: what it began with, what was done, and the pieces that came of it.

    `start` are the pieces before the first merge, empty where nothing is merged.
    """

    text: str
    start: tuple[str, ...]
    steps: tuple[Step, ...]
    pieces: tuple[str, ...]


@runtime_checkable
class Algorithm(Protocol):
    """How a word becomes pieces; the library does the same, only faster."""

    def work(self, word: str) -> WordWork:
        """The pieces of the word, and how they were found."""
        ...


class SamplingAlgorithm(ABC):
    """An algorithm that can also cut a word in other ways, at random."""

    @abstractmethod
    def sample(self, word: str, random: Random, strength: float) -> Sequence[str]:
        """One way to cut the word; what `strength` means, the algorithm says."""


def byte_names(text: str) -> list[str]:
    """The names of the pieces that stand for the bytes of a text, such as <0xE7>."""
    return [f"<0x{byte:02X}>" for byte in text.encode("utf-8", errors="surrogatepass")]


def shown_work(work: WordWork, shown: Callable[[str], str]) -> WordWork:
    """The same with the names that people see."""
    steps: list[Step] = []
    for step in work.steps:
        match step:
            case Merge():
                steps.append(replace(step, left=shown(step.left), right=shown(step.right)))
            case Match() | Arc():
                steps.append(replace(step, piece=shown(step.piece)))
    start, pieces = (tuple(map(shown, names)) for names in (work.start, work.pieces))
    return WordWork(shown(work.text), start, tuple(steps), pieces)
