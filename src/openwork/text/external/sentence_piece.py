"""SentencePiece's .model files, through the package `sentencepiece` (the extra `spm`).

Kudo and Richardson, "SentencePiece: A simple and language independent subword tokenizer and detokenizer for Neural Text
Processing" (2018). The whole text is one word, with ▁ for spaces. What the steps show is computed here from the
pieces and scores of the file; the protobuf package is not needed.
"""

import base64
import re
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np

from openwork.base.errors import DataError, UsageError
from openwork.text.external import ExternalTokenizer, Marks
from openwork.text.external.library import read_bounded
from openwork.text.external.untrusted import longest_replacement, refuse_growth
from openwork.text.pieces.bytepair import Merging
from openwork.text.pieces.unigram import UNKNOWN_PENALTY, Lattice
from openwork.text.tokenizer import Pieces, refuse_surrogates
from openwork.text.work import Algorithm, Match, WordWork, byte_names

# Fields of the file: its pieces and the settings of the training; of a piece its text, score and type. And the rules
# by which a text is changed before it is cut, and after it is put together; of these the map of characters.
_PIECE, _TRAINER = 1, 2
_NORMALIZERS, _CHARACTERS = (3, 5), 2
_TEXT, _SCORE, _TYPE = 1, 2, 3
_NORMAL, _OWN, _BYTE = 1, 4, 6  # types of pieces: learnt, defined by the user (never cut), a byte
_MODEL_TYPE = 3  # of the training: the type of the model
_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_OWN_MARGIN = 0.1  # how much less than the best pieces of its length a piece of the user's counts


def read_sentence_piece(path: Path) -> "SentencePieceTokenizer":
    """The tokenizer of a .model file."""
    data = read_bounded(path)
    try:
        return SentencePieceTokenizer(data)
    except ValueError as error:
        raise DataError(
            f"{path}: this is not a SentencePiece model, or it is damaged",
            why=str(error),
            hint="fetch the file again",
            code="D108",
        ) from error


def _processor(data: bytes) -> Any:
    try:
        import sentencepiece
    except ImportError as error:
        raise UsageError(
            "a SentencePiece model needs the package sentencepiece, which is not installed",
            hint="pip install sentencepiece (the extra spm)",
            code="U065",
        ) from error
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    except Exception as error:  # the package raises several kinds
        raise ValueError("the package sentencepiece cannot read it") from error
    if not data or processor.vocab_size() == 0:
        raise ValueError("it holds no pieces")
    return processor


def _model_type(data: bytes) -> str:
    trainer = next((value for field, value in _fields(data) if field == _TRAINER), b"")
    return _TYPES[next((value for field, value in _fields(trainer) if field == _MODEL_TYPE), 1)]


def _check_replacements(data: bytes) -> None:
    """ValueError where a character could become too many, before or after the text is cut."""
    try:
        for field, value in _fields(data):
            if field in _NORMALIZERS:
                maps = (entry for inner, entry in _fields(value) if inner == _CHARACTERS and isinstance(entry, bytes))
                refuse_growth(max(map(longest_replacement, maps), default=1))
    except (IndexError, TypeError, struct.error) as error:
        raise ValueError("its fields are cut short") from error


def _pieces(data: bytes) -> Iterator[tuple[str, float, int]]:
    """Text, score and type of each piece, by id."""
    for field, value in _fields(data):
        if field == _PIECE:
            parts = dict(_fields(value))
            yield parts[_TEXT].decode(), parts.get(_SCORE, 0.0), parts.get(_TYPE, _NORMAL)


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer: whole numbers, bytes, and numbers of single precision."""
    place = 0

    def number() -> int:
        nonlocal place
        first = place
        while data[place] >= 0x80:
            place += 1
        place += 1
        return sum((byte & 0x7F) << 7 * shift for shift, byte in enumerate(data[first:place]))

    while place < len(data):
        key = number()
        match key & 7:
            case 0:
                yield key >> 3, number()
            case 2:
                length = number()
                yield key >> 3, data[place : place + length]
                place += length
            case 5:
                yield key >> 3, struct.unpack("<f", data[place : place + 4])[0]
                place += 4
            case _:
                raise ValueError("the file has fields that SentencePiece does not write")


class SentencePieceTokenizer(ExternalTokenizer):
    """A SentencePiece model, used as the package uses it."""

    form = "sentencepiece"

    def __init__(self, data: bytes) -> None:
        """From the bytes of a .model file; `ValueError` where they are none."""
        self._data = data
        self._processor = processor = _processor(data)
        _check_replacements(data)
        self._type = _model_type(data)
        self.kind = f"external SentencePiece {self._type}"
        self.vocabulary_size: int = processor.vocab_size()
        named = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        self.numbers = range(self.vocabulary_size)
        self.marks = Marks(*(number if number >= 0 else None for number in named))

    @classmethod
    def from_content(cls, content: str) -> "SentencePieceTokenizer":
        return cls(base64.b64decode(content, validate=True))

    def content(self) -> str:
        return base64.b64encode(self._data).decode("ascii")

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        refuse_surrogates(texts)
        return self._processor.encode(list(texts))

    def encode_pieces(self, text: str) -> Pieces:
        refuse_surrogates([text])
        mapping = self._processor.encode_as_offset_mapping(text)
        return Pieces(mapping["ids"], [self.piece(n) for n in mapping["ids"]], [(b, e) for b, e in mapping["offsets"]])

    def decode(self, ids: list[int]) -> str:
        return self._processor.decode(ids)

    def piece(self, number: int) -> str:
        if not 0 <= number < self.vocabulary_size:
            raise ValueError(f"id {number} is outside the vocabulary of {self.vocabulary_size} pieces")
        return self._processor.id_to_piece(number)

    def work(self, text: str) -> list[WordWork]:
        """The text as the file's normalising leaves it, as one word."""
        refuse_surrogates([text])
        normal = self._processor.normalize(text)
        return [self._algorithm.work(normal)] if normal else []

    @cached_property
    def _algorithm(self) -> Algorithm:
        spelling = _Spelling(list(_pieces(self._data)), self.piece(self._processor.unk_id()))
        match self._type:
            case "unigram":
                return _SingleLattice(spelling)
            case "bpe":
                return _ScoredMerging(spelling)
            case other:
                return _Units(spelling, by_word=other == "word")


class _Spelling:
    """What text can match: the learnt pieces and the user's own, with their scores."""

    def __init__(self, pieces: list[tuple[str, float, int]], unknown: str) -> None:
        learnt = {text: score for text, score, kind in pieces if kind == _NORMAL}
        self.own = {text for text, _, kind in pieces if kind == _OWN}
        best = max(learnt.values(), default=0.0)
        self.worst = min(learnt.values(), default=0.0)
        self.scores = learnt | {text: len(text.encode()) * best - _OWN_MARGIN for text in self.own}
        self.unknown = unknown
        self._has_bytes = any(kind == _BYTE for _, _, kind in pieces)
        self._longest_own = max(map(len, self.own), default=0)

    def units(self, text: str) -> list[str]:
        """The characters of the text, and whole the user's own pieces, the longest first."""
        found, place = [], 0
        while place < len(text):
            lengths = range(min(self._longest_own, len(text) - place), 0, -1)
            length = next((n for n in lengths if text[place : place + n] in self.own), 1)
            found.append(text[place : place + length])
            place += length
        return found

    def spelt(self, text: str) -> list[str]:
        """The pieces for a text that has none: its bytes, or the unknown piece."""
        return byte_names(text) if self._has_bytes else [self.unknown]

    def names(self, pieces: list[str]) -> list[str]:
        """The same pieces; those that the vocabulary lacks are spelt, neighbours together."""
        names: list[str] = []
        for is_known, group in groupby(pieces, key=lambda piece: piece in self.scores):
            together = list(group)
            names += together if is_known else self.spelt("".join(together))
        return names


class _SingleLattice(Lattice):
    """The best way, with sums in single precision as the package makes them."""

    def __init__(self, spelling: _Spelling) -> None:
        super().__init__({"vocab": [[name, score] for name, score in spelling.scores.items()]})
        self.unknown = spelling.unknown
        self._unknown_score = self._sum(spelling.worst, -UNKNOWN_PENALTY)
        self._spelling = spelling

    def _sum(self, score: float, total: float) -> float:
        return float(np.float32(score + total))

    def _spelt(self, unknown: str) -> list[str]:
        return self._spelling.spelt(unknown)


class _ScoredMerging(Merging):
    """Merges neighbours that together are a piece, the best score first."""

    def __init__(self, spelling: _Spelling) -> None:
        super().__init__({"vocab": {}, "merges": []})
        self._spelling = spelling

    def work(self, word: str) -> WordWork:
        done = super().work(word)
        return WordWork(word, done.start, done.steps, tuple(self._spelling.names(list(done.pieces))))

    def _start(self, word: str) -> list[str]:
        return self._spelling.units(word)

    def _rank(self, left: str, right: str) -> int | None:
        own = self._spelling.own
        score = self._spelling.scores.get(left + right) if left not in own and right not in own else None
        return None if score is None else round(-score)


class _Units:
    """Characters, or words with the ▁ before them: looked up, one by one."""

    def __init__(self, spelling: _Spelling, *, by_word: bool) -> None:
        self._spelling = spelling
        self._by_word = by_word

    def work(self, word: str) -> WordWork:
        """One look into the vocabulary for each."""
        units = re.findall("▁[^▁]*|[^▁]+", word) if self._by_word else self._spelling.units(word)
        places = accumulate(map(len, units[:-1]), initial=0)
        known = self._spelling.scores
        steps = tuple(Match(place, unit, unit in known) for place, unit in zip(places, units, strict=True))
        return WordWork(word, (), steps, tuple(self._spelling.names(units)))
