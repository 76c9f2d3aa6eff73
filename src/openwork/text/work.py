"""What a tokenizer does with one word, step by step: as data to compare, and in words."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined


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


class Algorithm(ABC):
    """How a word becomes pieces; the library does the same, only faster."""

    @abstractmethod
    def work(self, word: str) -> WordWork:
        """The pieces of the word, and how they were found."""

    def sample(self, word: str, random: Random, strength: float) -> Sequence[str]:
        """One way to cut the word, at random, for algorithms that know several; each says what `strength` means."""
        raise NotImplementedError


def byte_names(text: str) -> list[str]:
    """The names of the pieces that stand for the bytes of a text, such as <0xE7>."""
    return [f"<0x{byte:02X}>" for byte in text.encode("utf-8", errors="surrogatepass")]


def shown_work(work: WordWork, shown: Callable[[str], str]) -> WordWork:
    """The same with the names that people see."""

    def shown_step(step: Step) -> Step:
        if isinstance(step, Merge):
            return replace(step, left=shown(step.left), right=shown(step.right))
        return replace(step, piece=shown(step.piece))

    start, pieces = (tuple(map(shown, names)) for names in (work.start, work.pieces))
    return WordWork(shown(work.text), start, tuple(map(shown_step, work.steps)), pieces)


LONGEST_SHOWN = 60  # pieces: in a longer word, the pieces after each merge are not shown


def visible(piece: str) -> str:
    """A piece that is distinct from its neighbours: spaces as ▁, tabs and line ends escaped."""
    return piece.replace(" ", "▁").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def as_line(pieces: Iterable[str]) -> str:
    return " ".join(map(visible, pieces))


def step_lines(works: list[WordWork]) -> Iterator[str]:
    """Each word with its steps, a line each, and the pieces that came of it."""
    for work in works:
        yield Joined("word ", AsIs(visible(work.text)))
        if work.start:
            yield Joined("  start: ", AsIs(as_line(work.start)))
        for step, after in zip(work.steps, _after_steps(work), strict=True):
            yield Joined("  ", _step_line(step), AsIs(after))
        yield Joined("  pieces: ", AsIs(as_line(work.pieces)))


def _step_line(step: Step) -> str:
    match step:
        case Merge():
            pieces = f"{visible(step.left)} + {visible(step.right)}"
            return Joined(f"merge of rank {step.rank}: ", AsIs(pieces))
        case Match():
            answer = msg("found") if step.found else msg("not in the vocabulary")
            return Joined(f"at {step.position}: ", AsIs(visible(step.piece)), " ", answer)
        case Arc():
            mark = msg("  best") if step.best else ""
            piece = AsIs(visible(step.piece))
            numbers = msg(f"  score {step.score:.4f}, sum {step.total:.4f}")
            return Joined(f"from {step.begin} to {step.end}: ", piece, numbers, mark)


def _after_steps(work: WordWork) -> Iterator[str]:
    """The pieces after each step that merges two, for words that are not too long."""
    pieces = dict(enumerate(work.start))
    for step in work.steps:
        if not isinstance(step, Merge) or len(work.start) > LONGEST_SHOWN:
            yield ""
            continue
        pieces[step.position] += pieces.pop(min(place for place in pieces if place > step.position))
        yield f" -> {as_line(pieces.values())}"


def as_data(works: list[WordWork]) -> list[dict[str, Any]]:
    """The same for JSON; each step says which kind it is."""
    named = [[{"step": type(step).__name__.lower(), **vars(step)} for step in work.steps] for work in works]
    return [{**vars(work), "steps": steps} for work, steps in zip(works, named, strict=True)]
