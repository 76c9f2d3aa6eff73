"""Whose id is whose: pieces under the ids of another toolkit, and under ours.

Our models have pad, unknown, start and end under 0, 1, 2 and 3. Elsewhere the symbols stand anywhere, one of them may
serve for two of ours (Marian starts with its padding symbol, BART with its end symbol), and one may be missing. No
torch here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openwork.base.errors import BundleError
from openwork.base.symbols import SYMBOL_IDS
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import SYMBOL_NAMES


@dataclass(frozen=True)
class Vocabulary:
    """`theirs[i]` is the id there of our piece i; None: they have no such symbol."""

    theirs: tuple[int | None, ...]

    @classmethod
    def of(cls, size: int, *, pad: int | None, unknown: int | None, start: int | None, end: int | None) -> "Vocabulary":
        """The symbols of a vocabulary of `size` pieces first, all others after them in their own order."""
        symbols = (pad, unknown, start, end)
        return cls((*symbols, *(number for number in range(size) if number not in symbols)))

    @classmethod
    def of_labels(cls, count: int) -> "Vocabulary":
        """Of labels, which they number from 0 and without symbols."""
        return cls((None,) * len(SYMBOL_NAMES) + tuple(range(count)))

    @property
    def size(self) -> int:
        """How many pieces we have."""
        return len(self.theirs)

    @cached_property
    def ours(self) -> dict[int, int]:
        """Our id of each of theirs; one that serves for two of our symbols is not the start, which no text holds."""
        order = sorted(range(self.size), key=lambda number: number != SYMBOL_IDS.start)
        return {theirs: number for number in order if (theirs := self.theirs[number]) is not None}

    def to_ours(self, ids: Iterable[int]) -> list[int]:
        """Their ids as ours."""
        return [self.ours[number] for number in ids]

    def to_theirs(self, ids: Iterable[int]) -> list[int]:
        """Our ids as theirs; a symbol that they lack is left out."""
        return [theirs for number in ids if (theirs := self.theirs[number]) is not None]

    def rows(self, table: Any) -> Any:
        """The rows of their table, a tensor (theirs, ...), in our order; zeros for a symbol that they lack."""
        known = table.new_tensor([number is not None for number in self.theirs])
        return table[[number or 0 for number in self.theirs]] * known.reshape(-1, *[1] * (table.ndim - 1))

    @property
    def size_there(self) -> int:
        """How many ids they have."""
        return max(theirs for theirs in self.theirs if theirs is not None) + 1

    def spread(self, table: Any) -> Any:
        """The rows of our table, a tensor (ours, ...), under their ids; zeros under those that we have not."""
        known = [(number, theirs) for number, theirs in enumerate(self.theirs) if theirs is not None]
        ours, theirs = (list(column) for column in zip(*known, strict=True))
        found = table.new_zeros(self.size_there, *table.shape[1:])
        found[theirs] = table[ours]
        return found


def own_vocabulary(folder: Path, tokenizer: LearntTokenizer, size: int) -> Vocabulary:
    """That of a model of `size` pieces that was written with our own tokenizer: the ids are ours."""
    if tokenizer.vocabulary_size != size:
        raise not_together(folder, size, tokenizer.vocabulary_size)
    return Vocabulary(tuple(range(size)))


def not_together(folder: Path, model: int, tokenizer: int) -> BundleError:
    """What is said of a model and a tokenizer with so many pieces."""
    return BundleError(
        f"{folder}: model and tokenizer do not belong together",
        why=f"the model has {model} pieces and the tokenizer {tokenizer}",
        hint="fetch the folder again: model and tokenizer must be of one training",
        code="B018",
    )
