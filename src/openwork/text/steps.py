"""What a tokenizer did with a line, step by step, in words and as data. No torch here."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from openwork.base.phrases import AsIs, Joined
from openwork.text.work import Arc, Match, Merge, Step, WordWork

LONGEST_SHOWN = 60  # pieces: in a longer word, what stands after each merge is not repeated


def visible(piece: str) -> str:
    """A piece that can be told from its neighbours: spaces as ▁, tabs and line ends escaped."""
    return piece.replace(" ", "▁").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def as_line(pieces: tuple[str, ...] | list[str]) -> str:
    """Pieces side by side."""
    return " ".join(map(visible, pieces))


def step_lines(works: list[WordWork]) -> Iterator[str]:
    """Each word with its steps, a line each, and the pieces that came of it."""
    for work in works:
        yield Joined("word ", AsIs(visible(work.text)))
        if work.start:
            yield Joined("  start: ", AsIs(as_line(work.start)))
        standing = _Standing(work)
        for step in work.steps:
            yield Joined("  ", _step_line(step), AsIs(standing.after(step)))
        yield Joined("  pieces: ", AsIs(as_line(work.pieces)))


def _step_line(step: Step) -> str:
    match step:
        case Merge():
            pieces = f"{visible(step.left)} + {visible(step.right)}"
            return Joined(f"merge of rank {step.rank}: ", AsIs(pieces))
        case Match():
            answer = "found" if step.found else "not in the vocabulary"
            return Joined(f"at {step.position}: ", AsIs(visible(step.piece)), " ", answer)
        case Arc():
            mark = "  best" if step.best else ""
            piece = AsIs(visible(step.piece))
            numbers = f"  score {step.score:.4f}, sum {step.total:.4f}"
            return Joined(f"from {step.begin} to {step.end}: ", piece, numbers, mark)


class _Standing:
    """What stands after each merge, for words that are not too long."""

    def __init__(self, work: WordWork) -> None:
        self._pieces: dict[int, str] | None = None
        if work.start and len(work.start) <= LONGEST_SHOWN:
            self._pieces = dict(enumerate(work.start))

    def after(self, step: Step) -> str:
        if self._pieces is None or not isinstance(step, Merge):
            return ""
        following = min(place for place in self._pieces if place > step.position)
        self._pieces[step.position] += self._pieces.pop(following)
        return f" -> {as_line([self._pieces[place] for place in sorted(self._pieces)])}"


def as_data(works: list[WordWork]) -> list[dict[str, Any]]:
    """The same for JSON; each step says which kind it is."""
    return [
        {
            "text": work.text,
            "start": work.start,
            "steps": [{"step": type(step).__name__.lower(), **asdict(step)} for step in work.steps],
            "pieces": work.pieces,
        }
        for work in works
    ]
