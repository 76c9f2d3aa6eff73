"""A translation and what else could follow its first pieces. No torch here."""

from dataclasses import dataclass

from openwork.text.placeholders import Spans

NO_TRANSLATION = "no translation meets the request"


@dataclass(frozen=True, repr=False)
class Translation:
    """One translation.

    Attributes:
        score: what alternatives are ranked by.
        finished: it ends with the end symbol, not at the length limit.
        cut: the source was too long and lost its end.
        missing: the placeholders of the source that the model left out.
        problem: why there is no translation, where a request cannot be met.
        pieces: the ids of the text.
        source_pieces: pieces of the source with its end symbol.
        flags: reasons not to trust it (`guard.py`), where they were checked.
    """

    text: str
    score: float = 0.0
    log_probability: float = 0.0
    finished: bool = True
    cut: bool = False
    missing: Spans = ()
    problem: str = ""
    pieces: tuple[int, ...] = ()
    source_pieces: int = 0
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        doubts = [*(["cut"] if self.cut else []), *([self.problem] if self.problem else []), *self.flags]
        listed = ", ".join((f"{self.text!r}", f"score={self.score:.4f}", *doubts))
        return f"{type(self).__name__}({listed})"


@dataclass(frozen=True)
class Alternative:
    """A piece that could follow the first pieces of a translation, and the whole translation with it."""

    piece: str
    probability: float
    text: str
