"""Byte-level byte-pair encoding: the merges begin at bytes, so that no character is ever rare.

Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.2. A character beyond ASCII is
two to four bytes until its merges are learnt. Nothing is lost.
"""

from collections.abc import Iterable
from typing import Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers

from openwork.text.pieces.alphabet import isolated
from openwork.text.pieces.bytepair import BytePair
from openwork.text.tokenizer import SPLIT, SYMBOL_NAMES, SYMBOLS


def _signs_of_bytes() -> dict[int, str]:
    """The character that stands for each byte: itself where it can be seen, one from U+0100 on where it cannot."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(256) if byte not in seen]
    return {byte: chr(byte) for byte in seen} | {byte: chr(0x100 + place) for place, byte in enumerate(unseen)}


SIGN_OF_BYTE = _signs_of_bytes()
BYTE_OF_SIGN = {sign: byte for byte, sign in SIGN_OF_BYTE.items()}


def bytes_of_signs(name: str) -> bytes:
    """The bytes that a piece's name stands for; a name that is not written in signs stands for itself."""
    if all(sign in BYTE_OF_SIGN for sign in name):
        return bytes(BYTE_OF_SIGN[sign] for sign in name)
    return name.encode()


def shown_signs(name: str) -> str:
    """A piece's name for people: its text, or its bytes where they are no whole characters."""
    spelt = bytes_of_signs(name)
    try:
        return spelt.decode()
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in spelt)


class ByteLevel(BytePair):
    """Pieces by merges of bytes. Names in the vocabulary are written in signs, as GPT-2 does."""

    kind = "byte-level"
    fixed_names = (*SYMBOL_NAMES, *(SIGN_OF_BYTE[byte] for byte in range(256)))

    @classmethod
    def library(cls, names: Iterable[str] = (), merges: Iterable[tuple[str, str]] = ()) -> LibraryTokenizer:
        library = LibraryTokenizer(models.BPE(cls.vocabulary(names), list(merges), unk_token=SYMBOLS.unknown))
        library.pre_tokenizer = _cut()
        library.decoder = decoders.ByteLevel()
        return library

    @classmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        return cls._merged(lines, _cut(), names, room, frequency)

    def _extended(self, lines: Iterable[str], size: int) -> Self:
        return self._with_further_merges(lines, _cut(), size)

    def _bytes_of(self, name: str) -> bytes:
        return bytes_of_signs(name)

    def shown(self, name: str) -> str:
        return name if name in SYMBOL_NAMES else shown_signs(name)


def _cut() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([isolated(SPLIT), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
