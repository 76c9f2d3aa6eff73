"""A tokenizer that openwork has learnt from lines, run by the `tokenizers` library.

The text is cut into words (`SPLIT`), each word into learnt pieces. Real spaces stay inside the pieces (" the"), so
decoding is concatenation. Each kind of piece is a class beside this one; `kinds.py` lists them.
"""

import hashlib
import json
import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers, trainers

from openwork.base.errors import ConfigError
from openwork.base.files import atomic_write_text
from openwork.text.pieces.alphabet import COMMON, read_twice
from openwork.text.tokenizer import (
    FIXED_NAMES,
    SMALLEST_VOCABULARY,
    SYMBOL_NAMES,
    Pieces,
    Tokenizer,
    placeholder_names,
    refuse_surrogates,
)
from openwork.text.work import Algorithm, WordWork, shown_work

# A child made by fork must not use the library's threads, which exist only in its parent; the library says so with a
# warning unless this variable decides.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: os.environ.setdefault("TOKENIZERS_PARALLELISM", "false"))


class LearntTokenizer(Tokenizer):
    """A library tokenizer with openwork's symbols; nothing is lost unless the kind says so."""

    fixed_names: ClassVar[tuple[str, ...]] = FIXED_NAMES  # what every vocabulary of this kind starts with
    has_many_ways: ClassVar[bool] = False  # whether a text can be cut in other ways than the best, at random
    algorithm_type: ClassVar[Callable[[Mapping[str, Any]], Algorithm]]  # what the library does with a word

    def __init__(self, library: LibraryTokenizer) -> None:
        self._library = library
        self.vocabulary_size = library.get_vocab_size()
        self.fingerprint = hashlib.sha256(library.to_str().encode()).hexdigest()[:16]
        self.first_placeholder = len(self.fixed_names)
        while library.id_to_token(self.first_placeholder + self.placeholders) == f"⟦{self.placeholders + 1}⟧":
            self.placeholders += 1

    @classmethod
    @abstractmethod
    def library(cls, names: Iterable[Any] = ()) -> LibraryTokenizer:
        """The library's tokenizer of this kind, with these pieces after the fixed ones."""

    @classmethod
    def of(cls, names: Iterable[Any], *merges: Any) -> Self:
        """The tokenizer with these placeholders and pieces after the fixed ones (unigram: with scores)."""
        return cls(cls.library(names, *merges))

    @classmethod
    def learn(
        cls,
        lines: Iterable[str],
        vocabulary_size: int,
        *,
        minimum_frequency: int = 2,
        placeholders: int = 0,
        character_frequency: int = COMMON,
    ) -> Self:
        """Learns at most `vocabulary_size` pieces (symbols, bytes and placeholders included) from the lines.

        A pair of pieces, or a word, must occur `minimum_frequency` times to become a piece. A character that occurs
        `character_frequency` times gets a piece, the commonest first, as far as half of the room goes; the others are
        left to bytes. The lines are read twice; from an iterator they are therefore kept in memory.
        """
        names = placeholder_names(placeholders)
        fixed = len(cls.fixed_names) + placeholders
        smallest = max(SMALLEST_VOCABULARY, fixed + SMALLEST_VOCABULARY - 260)
        if vocabulary_size < smallest:
            raise ConfigError(
                f"a vocabulary of {vocabulary_size} pieces is too small",
                why=f"the symbols, the bytes and the placeholders alone take {fixed}",
                hint=f"choose at least {smallest}",
                code="C053",
            )
        room = vocabulary_size - fixed
        return cls._learn(read_twice(lines), names, room, minimum_frequency, character_frequency)

    @classmethod
    @abstractmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        """What `learn` gives: after the fixed pieces and the placeholders `names` there is room for so many."""

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        """What makes learnt parts unfit for this kind, as read from a file; empty if nothing does."""
        return ""

    @classmethod
    def vocabulary(cls, names: Iterable[str]) -> dict[str, int]:
        """The ids of the fixed pieces and of these names after them."""
        return {name: number for number, name in enumerate([*cls.fixed_names, *names])}

    @classmethod
    def names_after_fixed(cls, vocabulary: dict[str, int]) -> list[str]:
        """The inverse of `vocabulary`."""
        return sorted(vocabulary, key=vocabulary.__getitem__)[len(cls.fixed_names) :]

    @property
    def learnt_names(self) -> list[str]:
        """The names of all pieces but the fixed ones, by id."""
        return self.names_after_fixed(self.ids_of_names)

    def extended(self, lines: Iterable[str], size: int) -> Self:
        return self._extended(read_twice(lines), size) if size > self.vocabulary_size else self

    def _extended(self, lines: Iterable[str], size: int) -> Self:
        new = [name for name in self._further_names(lines, size) if name not in self.ids_of_names]
        return self.of([*self.learnt_names, *new[: size - self.vocabulary_size]])

    def _further_names(self, lines: Iterable[str], size: int) -> list[str]:
        """Names from new lines, the best first; some may be there already."""
        return self.learn(lines, size, placeholders=self.placeholders).learnt_names

    def restricted(self, used: Collection[int]) -> Self:
        """The tokenizer without the learnt pieces that are not `used`; characters and placeholders stay.

        A text whose pieces are all used is cut as before. The other pieces keep their order.
        """
        kept = {name for name in self.learnt_names if self.ids_of_names[name] in used or self._stays(name)}
        return self._of_these(self._with_parts(kept))

    def _stays(self, name: str) -> bool:
        return len(name) == 1 or self.ids_of_names[name] < self.first_placeholder + self.placeholders

    def _with_parts(self, names: set[str]) -> set[str]:
        """These names, and those of the pieces that they are made of."""
        return names

    def _of_these(self, names: set[str]) -> Self:
        return self.of([name for name in self.learnt_names if name in names])

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return [encoding.ids for encoding in self._library.encode_batch_fast(texts, add_special_tokens=False)]

    def encode_batch_sampled(self, texts: Sequence[str], seed: int, strength: float) -> list[list[int]]:
        refuse_surrogates(texts)
        if not self.has_many_ways:
            return super().encode_batch_sampled(texts, seed, strength)
        random = Random(seed)
        rows = []
        for text in texts:
            names = [name for word, _ in self.words(text) for name in self.algorithm.sample(word, random, strength)]
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

    @cached_property
    def algorithm(self) -> Algorithm:
        """What the library does with a word, in our own code: slower, but it can be watched."""
        return type(self).algorithm_type(self._model)

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


def trained_model(
    model: models.Model, cut: pre_tokenizers.PreTokenizer, lines: Iterable[str], trainer: trainers.Trainer
) -> dict[str, Any]:
    """What the library's trainer makes of a model from the words of the lines, as the library writes it.

    The trainer registers the symbols as pieces to be cut out of text, so only its model is kept.
    """
    library = LibraryTokenizer(model)
    library.pre_tokenizer = cut
    library.train_from_iterator(lines, trainer)
    return json.loads(library.to_str())["model"]
