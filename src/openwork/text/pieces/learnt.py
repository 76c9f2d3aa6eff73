"""A tokenizer that openwork has learnt from lines, run by the `tokenizers` library.

The text is cut into words (`SPLIT`), each word into learnt pieces. Real spaces stay inside the pieces (" the"), so
decoding is concatenation. Each kind of piece is a class beside this one; `kinds.py` lists them.
"""

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from tokenizers import Tokenizer as LibraryTokenizer

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.text.pieces.algorithms import algorithm_of
from openwork.text.symbols import FIXED_NAMES, SYMBOL_NAMES, Pieces, placeholder_names
from openwork.text.tokenizer import Tokenizer, refuse_surrogates
from openwork.text.work import Algorithm, SamplingAlgorithm, WordWork, shown_work

# A child made by fork must not use the library's threads, which exist only in its parent; the library says so with a
# warning unless this variable decides.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: os.environ.setdefault("TOKENIZERS_PARALLELISM", "false"))


class LearntTokenizer(Tokenizer):
    """A library tokenizer with openwork's symbols; nothing is lost unless the kind says so."""

    fixed_names: ClassVar[tuple[str, ...]] = FIXED_NAMES  # what every vocabulary of this kind starts with

    has_many_ways: ClassVar[bool] = False  # whether a text can be cut in other ways than the best, at random

    def __init__(self, library: LibraryTokenizer) -> None:
        self._library = library
        self.vocabulary_size = library.get_vocab_size()
        self.fingerprint = hashlib.sha256(library.to_str().encode()).hexdigest()[:16]

    @classmethod
    @abstractmethod
    def skeleton(cls) -> LibraryTokenizer:
        """The library's tokenizer of this kind, before anything is learnt."""

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        """What makes learnt parts unfit for this kind, as read from a file; empty if nothing does."""
        return ""

    def extended(self, lines: Iterable[str], size: int) -> "LearntTokenizer":
        return self._extended(lines, size) if size > self.vocabulary_size else self

    @abstractmethod
    def _extended(self, lines: Iterable[str], size: int) -> "LearntTokenizer":
        """What `extended` gives where there is room."""

    # ------------------------------------------------------------------------------------------ text to ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return [encoding.ids for encoding in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def encode_batch_sampled(self, texts: Sequence[str], seed: int, strength: float) -> list[list[int]]:
        refuse_surrogates(texts)
        algorithm = self.algorithm
        if not self.has_many_ways or not isinstance(algorithm, SamplingAlgorithm):
            raise ConfigError(
                f"the kind {self.kind} cannot be sampled",
                why="it knows only one way to cut a text",
                hint='set text.sampling = 0, or text.kind to "byte-pair", "byte-level" or "unigram"',
                code="C056",
            )
        random = Random(seed)
        rows = []
        for text in texts:
            names = [name for word, _ in self.words(text) for name in algorithm.sample(word, random, strength)]
            rows.append([self.ids_of_names[name] for name in names])
        return rows

    def encode_pieces(self, text: str) -> Pieces:
        ids = self.encode(text)
        return Pieces(ids, [self.piece(number) for number in ids], self._offsets(text, ids))

    def _offsets(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The span of each piece: the pieces' bytes, one after another, are those of the text."""
        character_of_byte = [place for place, character in enumerate(text) for _ in character.encode()]
        ends = list(accumulate(len(self.piece_bytes[number]) for number in ids))
        begins = [0, *ends][:-1]
        return [(character_of_byte[b], character_of_byte[e - 1] + 1) for b, e in zip(begins, ends, strict=True)]

    # ------------------------------------------------------------------------------------------ ids to text

    def decode(self, ids: Iterable[int]) -> str:
        pieces = self.piece_bytes
        row = list(ids)
        if row and max(row) >= self.vocabulary_size:
            raise ValueError(f"id {max(row)} is outside the vocabulary of {self.vocabulary_size} pieces")
        return b"".join([pieces[number] for number in row if number >= 0]).decode("utf-8", errors="replace")

    @cached_property
    def piece_bytes(self) -> list[bytes]:
        """What each piece adds to a text, as UTF-8; nothing for a symbol."""
        fixed = [b""] * len(SYMBOL_NAMES) + [bytes([byte]) for byte in range(len(self.fixed_names) - len(SYMBOL_NAMES))]
        fixed += [name.encode() for name in placeholder_names(self.placeholders)]
        return fixed + [self._bytes_of(self._name(number)) for number in range(len(fixed), self.vocabulary_size)]

    def _bytes_of(self, name: str) -> bytes:
        """What a learnt piece of this name adds to a text."""
        return name.encode()

    def piece(self, number: int) -> str:
        return self.shown(self._name(number))

    def shown(self, name: str) -> str:
        """A piece's name in the vocabulary as it is shown to people."""
        return name

    def _name(self, number: int) -> str:
        name = self._library.id_to_token(number)
        if name is None:
            raise ValueError(f"id {number} is outside the vocabulary of {self.vocabulary_size} pieces")
        return name

    @property
    def placeholders(self) -> int:
        return self._placeholders

    @cached_property
    def _placeholders(self) -> int:
        first, count = self.first_placeholder, 0
        while self._library.id_to_token(first + count) == f"⟦{count + 1}⟧":
            count += 1
        return count

    @property
    def first_placeholder(self) -> int:
        return len(self.fixed_names)

    # ------------------------------------------------------------------------------------------ how it is done

    @cached_property
    def algorithm(self) -> Algorithm:
        """What the library does with a word, in our own code: slower, but it can be watched."""
        return self._make_algorithm()

    def _make_algorithm(self) -> Algorithm:
        return algorithm_of(self._model)

    @property
    def _model(self) -> dict[str, Any]:
        return json.loads(self._library.to_str())["model"]

    @cached_property
    def ids_of_names(self) -> dict[str, int]:
        """The id of each piece by its name in the vocabulary."""
        return self._library.get_vocab(with_added_tokens=False)

    def words(self, text: str) -> list[tuple[str, int]]:
        """The words of a text, as the algorithm gets them, and the character where each begins."""
        cut = self._library.pre_tokenizer
        if cut is None:
            return [(text, 0)] if text else []
        return [(word, begin) for word, (begin, _) in cut.pre_tokenize_str(text)]

    def work(self, text: str) -> list[WordWork]:
        refuse_surrogates([text])
        return [shown_work(self.algorithm.work(word), self.shown) for word, _ in self.words(text)]

    def save(self, path: Path | str) -> None:
        """Write the tokenizer as one JSON file, in the library's own format."""
        atomic_write_text(path, self._library.to_str(pretty=True) + "\n")
