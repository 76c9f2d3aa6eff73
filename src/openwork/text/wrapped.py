"""A tokenizer in the clothes of another: the same pieces and file, for texts of another form."""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from openwork.text.tokenizer import Tokenizer


class Wrapped(Tokenizer):
    """Cuts texts by `inner`, each text in its own way; `form` names that way.

    The file is that of `inner`: which form a bundle's texts have is a fact of its task.
    """

    form: str

    def __init__(self, inner: Tokenizer) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.vocabulary_size = inner.vocabulary_size
        self.fingerprint = hashlib.sha256(f"{self.form} {inner.fingerprint}".encode()).hexdigest()[:16]

    @abstractmethod
    def _cut(self, texts: Sequence[str], encode: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
        """The ids of texts, by a way to cut parts of them."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return self._cut(texts, self.inner.encode_batch)

    def encode_batch_sampled(self, texts: Sequence[str], seed: int, strength: float) -> list[list[int]]:
        return self._cut(texts, lambda parts: self.inner.encode_batch_sampled(parts, seed, strength))

    def decode(self, ids: Iterable[int]) -> str:
        return self.inner.decode(ids)

    def piece(self, number: int) -> str:
        return self.inner.piece(number)

    def extended(self, lines: Iterable[str], size: int) -> "Wrapped":
        return type(self)(self.inner.extended(lines, size))

    @property
    def placeholders(self) -> int:
        return self.inner.placeholders

    @property
    def first_placeholder(self) -> int:
        return self.inner.first_placeholder

    def save(self, path: Path | str) -> None:
        self.inner.save(path)


def unwrapped(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer within, or the tokenizer itself."""
    return unwrapped(tokenizer.inner) if isinstance(tokenizer, Wrapped) else tokenizer
