"""Byte-level byte-pair encoding: the merges begin at bytes, so that no character is ever rare.

Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), section 2.2. A character beyond ASCII is
two to four bytes until its merges are learnt. Nothing is lost.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.text.pieces.alphabet import COMMON, LONGEST_PIECE, refuse_small
from openwork.text.pieces.bytepair import Merges, flaw_of_merges, merges_of
from openwork.text.pieces.further import further_merges
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import SPLIT, SYMBOL_NAMES, SYMBOLS, placeholder_names


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


class ByteLevel(LearntTokenizer):
    """Pieces by merges of bytes. Names in the vocabulary are written in signs, as GPT-2 does."""

    kind = "byte-level"
    has_many_ways = True
    fixed_names = (*SYMBOL_NAMES, *(SIGN_OF_BYTE[byte] for byte in range(256)))

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of({name: number for number, name in enumerate(cls.fixed_names)}, [])

    @classmethod
    def from_merges(cls, vocabulary: dict[str, int], merges: Merges) -> "ByteLevel":
        """The tokenizer with these pieces; the first must be `fixed_names`."""
        return cls(cls._library_of(vocabulary, merges))

    @staticmethod
    def _library_of(vocabulary: dict[str, int], merges: Merges) -> LibraryTokenizer:
        library = LibraryTokenizer(models.BPE(vocabulary, merges, unk_token=SYMBOLS.unknown))
        library.pre_tokenizer = _cut()
        library.decoder = decoders.ByteLevel()
        return library

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        return flaw_of_merges(model, SYMBOL_NAMES)

    def _extended(self, lines: Iterable[str], size: int) -> "ByteLevel":
        cut = _cut()
        counts = Counter(word for line in lines for word, _ in cut.pre_tokenize_str(line))
        words = {self.algorithm.work(word).pieces: count for word, count in counts.items()}
        vocabulary, further = further_merges(words, self.ids_of_names, size, 2)
        return ByteLevel.from_merges(vocabulary, merges_of(self._model) + further)

    def _bytes_of(self, name: str) -> bytes:
        return bytes_of_signs(name)

    def shown(self, name: str) -> str:
        return name if name in SYMBOL_NAMES else shown_signs(name)


def _cut() -> pre_tokenizers.PreTokenizer:
    words = pre_tokenizers.Split(Regex(SPLIT), behavior="isolated")
    return pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train_byte_level(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> ByteLevel:
    """Learn at most `vocabulary_size` pieces; a pair must occur `minimum_frequency` times to become one."""
    fixed = [*ByteLevel.fixed_names, *placeholder_names(placeholders)]
    refuse_small(vocabulary_size, len(fixed))
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        min_frequency=minimum_frequency,
        special_tokens=fixed,
        max_token_length=LONGEST_PIECE,
        show_progress=False,
    )
    library = LibraryTokenizer(models.BPE(unk_token=SYMBOLS.unknown))
    library.pre_tokenizer = _cut()
    library.train_from_iterator(lines, trainer)
    learnt = json.loads(library.to_str())["model"]
    return ByteLevel.from_merges(learnt["vocab"], merges_of(learnt))
