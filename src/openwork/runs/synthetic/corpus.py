"""The sentences that a model translates: of a known corpus, of two aligned files, or of one file."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from openwork.base.errors import UsageError
from openwork.base.files import read_lines
from openwork.data.pairs import iterate_pairs
from openwork.data.records import Pair

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Corpus:
    """Sentences, with their other sides ("" where there is none); read as often as needed. `reads`: the files."""

    read: Callable[[], Iterable[Pair]]
    reads: tuple[Path, ...] = ()

    def pairs(self) -> Iterator[Pair]:
        """The sentences that are not blank, each with its other side."""
        return (pair for pair in self.read() if pair.source.strip())


def corpus_of(name: str | None, sentences: Path | None, others: Path | None = None, *, side: Side = "source") -> Corpus:
    """The training pairs of a corpus by name, or of files. UsageError where not just one of them is named.

    `side`: the one of a corpus by name that is translated.
    """
    if (name is None) == (sentences is None):
        raise UsageError(
            "name the sentences to translate",
            hint="give --source FILE, or --corpus NAME",
            code="U169",
        )
    if name is not None:
        found = Corpus(partial(iterate_pairs, None, None, name, "train"))
        return found if side == "source" else Corpus(lambda: (Pair(target, source) for source, target in found.read()))
    assert sentences is not None
    if others is not None:
        return Corpus(partial(iterate_pairs, sentences, others, None, "train"), (sentences, others))
    return Corpus(lambda: (Pair(line, "") for line in read_lines(sentences)), (sentences,))
