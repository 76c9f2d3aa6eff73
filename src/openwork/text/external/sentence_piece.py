"""SentencePiece's .model files, through the package `sentencepiece` (the extra `spm`).

Kudo and Richardson, "SentencePiece: A simple and language independent subword tokenizer and detokenizer for Neural Text
Processing" (2018). The whole text is one word, with ▁ for spaces. The protobuf package is not needed.
"""

import base64
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from openwork.base.errors import DataError, UsageError
from openwork.text.external import ExternalTokenizer, Marks
from openwork.text.external.library import read_bounded
from openwork.text.external.untrusted import longest_replacement, refuse_growth
from openwork.text.tokenizer import Pieces, refuse_surrogates

# Fields of the file: the rules by which a text is changed before it is cut, and after it is put together; of these the
# map of characters.
_NORMALIZERS, _CHARACTERS = (3, 5), 2


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


def _check_replacements(data: bytes) -> None:
    """ValueError where a character could become too many, before or after the text is cut."""
    try:
        for field, value in _fields(data):
            if field in _NORMALIZERS:
                maps = (entry for inner, entry in _fields(value) if inner == _CHARACTERS and isinstance(entry, bytes))
                refuse_growth(max(map(longest_replacement, maps), default=1))
    except (IndexError, TypeError, struct.error) as error:
        raise ValueError("its fields are cut short") from error


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

    kind = "external SentencePiece"
    form = "sentencepiece"

    def __init__(self, data: bytes) -> None:
        """From the bytes of a .model file; `ValueError` where they are none."""
        self.data = data
        self._processor = processor = _processor(data)
        _check_replacements(data)
        self.vocabulary_size: int = processor.vocab_size()
        named = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        self.numbers = range(self.vocabulary_size)
        self.marks = Marks(*(number if number >= 0 else None for number in named))

    @classmethod
    def from_content(cls, content: str) -> "SentencePieceTokenizer":
        return cls(base64.b64decode(content, validate=True))

    def content(self) -> str:
        return base64.b64encode(self.data).decode("ascii")

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
