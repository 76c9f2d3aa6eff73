"""The tokenizers of the two sides of a translator: one shared by both, or one each."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from openwork.base.errors import BundleError
from openwork.text.bytepair import train_byte_pair
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import Tokenizer

_SHARED = "tokenizer.json"
_SOURCE = "source.tokenizer.json"
_TARGET = "target.tokenizer.json"


@dataclass(frozen=True)
class TokenizerPair:
    """Source and target; where the vocabulary is shared, both are the same object."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        return self.source is self.target

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that tell these vocabularies from all others."""
        both = f"{self.source.fingerprint} {self.target.fingerprint} {self.shared}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    def save(self, folder: Path | str) -> None:
        """Write `tokenizer.json`, or `source.tokenizer.json` and `target.tokenizer.json`, into the folder."""
        folder = Path(folder)
        if self.shared:
            self.source.save(folder / _SHARED)
        else:
            self.source.save(folder / _SOURCE)
            self.target.save(folder / _TARGET)
        for stale in (_SOURCE, _TARGET) if self.shared else (_SHARED,):
            (folder / stale).unlink(missing_ok=True)

    @classmethod
    def load(cls, folder: Path | str) -> "TokenizerPair":
        """Read what `save` wrote; `BundleError` if there is none, or both kinds at once."""
        folder = Path(folder)
        shared = (folder / _SHARED).exists()
        separate = (folder / _SOURCE).exists() or (folder / _TARGET).exists()
        if shared == separate:
            found = "a shared tokenizer and separate ones" if shared else "no tokenizer"
            raise BundleError(
                f"{folder}: the folder holds {found}",
                why=f"either {_SHARED} is needed, or {_SOURCE} and {_TARGET}",
                hint="copy the whole bundle again",
            )
        if shared:
            tokenizer = Tokenizer.load(folder / _SHARED)
            return cls(tokenizer, tokenizer)
        return cls(Tokenizer.load(folder / _SOURCE), Tokenizer.load(folder / _TARGET))


@dataclass(frozen=True)
class _Both:
    """The lines of both sides, one side after the other, readable again and again if they are."""

    source: Iterable[str]
    target: Iterable[str]

    def __iter__(self) -> Iterator[str]:
        return chain(self.source, self.target)


def train_pair(source_lines: Iterable[str], target_lines: Iterable[str], settings: TextSettings) -> TokenizerPair:
    """Learn the vocabulary of both sides together, or one of the same size for each side.

    The lines are read twice: what can be read only once (an iterator) is kept in memory.
    """
    size, frequency = settings.vocabulary_size, settings.minimum_frequency
    if settings.shared:
        both = _Both(_again(source_lines), _again(target_lines))
        tokenizer = train_byte_pair(both, size, minimum_frequency=frequency)
        return TokenizerPair(tokenizer, tokenizer)
    return TokenizerPair(
        train_byte_pair(source_lines, size, minimum_frequency=frequency),
        train_byte_pair(target_lines, size, minimum_frequency=frequency),
    )


def _again(lines: Iterable[str]) -> Iterable[str]:
    return list(lines) if iter(lines) is lines else lines
