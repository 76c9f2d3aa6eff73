"""Ids of another toolkit's vocabulary and openwork's ids of the same pieces. No torch here.

openwork's models have pad, unknown, start and end under 0, 1, 2 and 3. Elsewhere the symbols have any id, one of them
may serve as two of openwork's (Marian starts with its padding symbol, BART with its end symbol), one may be missing.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from openwork.base.errors import BundleError
from openwork.base.symbols import SYMBOL_IDS
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.tokenizer import SYMBOL_NAMES, Tokenizer


@dataclass(frozen=True)
class Vocabulary:
    """`external[i]` is the toolkit's id of openwork's piece i; None for a symbol that the toolkit lacks.

    `ids`: how many ids the toolkit has, if those of the pieces are not all.
    """

    external: tuple[int | None, ...]
    ids: int = 0

    @classmethod
    def of(cls, size: int, *, pad: int | None, unknown: int | None, start: int | None, end: int | None) -> "Vocabulary":
        """The symbols of a vocabulary of `size` pieces first, all others after them in their own order."""
        symbols = (pad, unknown, start, end)
        return cls((*symbols, *(number for number in range(size) if number not in symbols)))

    @classmethod
    def of_labels(cls, count: int) -> "Vocabulary":
        """Labels, which Hugging Face numbers from 0 and without symbols."""
        return cls((None,) * len(SYMBOL_NAMES) + tuple(range(count)))

    @property
    def size(self) -> int:
        """Pieces in openwork."""
        return len(self.external)

    @property
    def external_size(self) -> int:
        """Ids in the toolkit."""
        return self.ids or max(external for external in self.external if external is not None) + 1

    @cached_property
    def own(self) -> dict[int, int]:
        """openwork's id of each external id; one that serves as two symbols is not the start, which no text holds."""
        order = sorted(range(self.size), key=lambda number: number != SYMBOL_IDS.start)
        return {external: number for number in order if (external := self.external[number]) is not None}

    def gather(self, table: Any) -> Any:
        """The rows of the toolkit's table (external, ...) in openwork's order; zeros for a symbol that it lacks."""
        known = table.new_tensor([number is not None for number in self.external])
        return table[[number or 0 for number in self.external]] * known.reshape(-1, *[1] * (table.ndim - 1))

    def scatter(self, table: Any) -> Any:
        """The rows of openwork's table (piece, ...) under the external ids; zeros under ids without a piece."""
        known = [(number, external) for number, external in enumerate(self.external) if external is not None]
        own, external = (list(column) for column in zip(*known, strict=True))
        found = table.new_zeros(self.external_size, *table.shape[1:])
        found[external] = table[own]
        return found


def own_vocabulary(folder: Path, tokenizer: LearntTokenizer, size: int) -> Vocabulary:
    """The ids of a model of `size` pieces that was exported with openwork's own tokenizer: they are the same."""
    if tokenizer.vocabulary_size != size:
        raise sizes_differ(folder, size, tokenizer.vocabulary_size)
    return Vocabulary(tuple(range(size)))


def sizes_differ(folder: Path, model: int, tokenizer: int) -> BundleError:
    return BundleError(
        f"{folder}: model and tokenizer do not belong together",
        why=f"the model has {model} pieces and the tokenizer {tokenizer}",
        hint="fetch the folder again: model and tokenizer must be of one training",
        code="B018",
    )


def token_names(tokenizer: Tokenizer) -> list[str]:
    """The tokens by id, as the tokenizer's own file names them; BundleError where two have one name."""
    if isinstance(tokenizer, LearntTokenizer):
        ids = tokenizer.ids_of_names
        return sorted(ids, key=lambda name: ids[name])
    names = [tokenizer.piece(number) for number in range(tokenizer.vocabulary_size)]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise BundleError(
            "this vocabulary cannot be written by the names of its pieces",
            why=f"two of them are named {twice!r}",
            hint="train with a tokenizer whose pieces all have different names",
            code="B033",
        )
    return names
