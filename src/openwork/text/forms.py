"""Tokenizers for texts of another form, with the pieces and the file of the tokenizer that they wrap.

Segment pairs, for tasks about two sentences: a tab separates the segments, and each but the last gets an end symbol, so
that a model sees where the second one starts, as BERT does by its [SEP] (Devlin et al. 2019, section 3). The source's
own end symbol closes the last segment.

Words, for tagging: a tagger gives one tag for each piece that starts a word; which pieces do is a fact of the
vocabulary (`word_starts`). Our own kinds keep the space before a word inside its first piece, so a text is given a
space before its first word too. External tokenizers split a word at punctuation ("o'hare" becomes o, ', hare), which
would be three word starts: there the pieces of a word end before a second start. The tagger does not read the rest of
such a word; its tag stays in its place.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.pieces.wordpiece import PREFIX
from openwork.text.tokenizer import SYMBOL_NAMES, Pieces, Tokenizer
from openwork.text.work import WordWork

SEPARATOR = "\t"


class Wrapped(Tokenizer):
    """Cuts texts by `inner`, each text in its own way; `form` names that way.

    The file is that of `inner`: which form a bundle's texts have is a fact of its task.
    """

    form: str

    def __init__(self, inner: Tokenizer) -> None:
        self.inner = inner
        self.kind = inner.kind
        self.vocabulary_size = inner.vocabulary_size
        self.placeholders = inner.placeholders
        self.first_placeholder = inner.first_placeholder
        self.fingerprint = hashlib.sha256(f"{self.form} {inner.fingerprint}".encode()).hexdigest()[:16]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Wrapped":
        """The tokenizer for texts of this form; what is so already stays as it is."""
        return tokenizer if isinstance(tokenizer, cls) else cls(tokenizer)

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

    def extended(self, lines: Iterable[str], size: int) -> Self:
        return type(self)(self.inner.extended(lines, size))

    def save(self, path: Path | str) -> None:
        self.inner.save(path)


def unwrapped(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer within, or the tokenizer itself."""
    return unwrapped(tokenizer.inner) if isinstance(tokenizer, Wrapped) else tokenizer


class SegmentPairTokenizer(Wrapped):
    """Texts with tabs between their segments; one without a tab has the ids that it always had."""

    form = "parted"  # part of the fingerprint

    def _cut(self, texts: Sequence[str], encode: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
        cut = [text.split(SEPARATOR) for text in texts]
        rows = iter(encode([part for parts in cut for part in parts]))
        found = []
        for parts in cut:
            row = next(rows)
            for _ in parts[1:]:
                row = [*row, self.end_id, *next(rows)]
            found.append(row)
        return found

    def encode_pieces(self, text: str) -> Pieces:
        found = Pieces([], [], [])
        begin = 0
        for part in text.split(SEPARATOR):
            if begin:
                found.add(self.end_id, self.piece(self.end_id), (begin - 1, begin))
            pieces = self.inner.encode_pieces(part)
            for number, name, (first, last) in zip(pieces.ids, pieces.pieces, pieces.offsets, strict=True):
                found.add(number, name, (begin + first, begin + last))
            begin += len(part) + 1
        return found

    def work(self, text: str) -> list[WordWork]:
        return [work for part in text.split(SEPARATOR) for work in self.inner.work(part)]


def word_starts(tokenizer: Tokenizer) -> list[bool]:
    """For each piece whether it starts a word: those with the space before it, and the unknown symbol.

    BERT's pieces have no spaces: there all start a word but those that continue one ("##s").
    """
    names = [tokenizer.piece(number) for number in range(len(SYMBOL_NAMES), tokenizer.vocabulary_size)]
    ours = isinstance(unwrapped(tokenizer), LearntTokenizer)
    if not ours and any(name.startswith(PREFIX) for name in names):
        begins = [not name.startswith(PREFIX) for name in names]
    else:
        begins = [name.startswith((" ", "▁")) for name in names]
    return [number == tokenizer.unknown_id for number in range(len(SYMBOL_NAMES))] + begins


class WordLevelTokenizer(Wrapped):
    """Texts are lists of words; a word is what is between spaces.

    There are as many word starts in the ids of a text as it has words: a word of which the tokenizer makes nothing, or
    whose first piece is no word start, starts with the unknown symbol.
    """

    form = "word by word"

    @cached_property
    def begins(self) -> list[bool]:
        """For each piece whether it starts a word."""
        return word_starts(self)

    def _cut(self, texts: Sequence[str], encode: Callable[[Sequence[str]], list[list[int]]]) -> list[list[int]]:
        cut = [text.split() for text in texts]
        rows = iter(encode([f" {word}" for words in cut for word in words]))
        return [[number for _ in words for number in self._one_word(next(rows))] for words in cut]

    def _one_word(self, row: Sequence[int]) -> Sequence[int]:
        """The pieces of a word up to a second start."""
        if not row or not self.begins[row[0]]:
            row = [self.unknown_id, *row]
        return row[: next((place for place in range(1, len(row)) if self.begins[row[place]]), len(row))]

    def encode_pieces(self, text: str) -> Pieces:
        found = Pieces([], [], [])
        begin = 0
        for word in text.split():
            begin = text.index(word, begin)
            for number in self.encode(word):
                found.add(number, self.piece(number), (begin, begin + len(word)))
            begin += len(word)
        return found

    def work(self, text: str) -> list[WordWork]:
        return [work for word in text.split() for work in self.inner.work(f" {word}")]
