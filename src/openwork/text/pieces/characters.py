"""Characters: each common character is a piece, and a rare one its bytes.

For languages written without spaces, for copying tasks, and to compare with. Nothing is lost, and texts get long.
"""

from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models

from openwork.text.pieces.alphabet import COMMON, common_characters, read_twice, refuse_small
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import FIXED_NAMES, SYMBOLS, placeholder_names


class Characters(LearntTokenizer):
    """Byte-pair encoding without a single merge, and so without words."""

    kind = "characters"

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of([])

    @classmethod
    def of(cls, names: Iterable[str]) -> "Characters":
        """The tokenizer with these placeholders and characters after the fixed pieces."""
        return cls(cls._library_of(names))

    @staticmethod
    def _library_of(names: Iterable[str]) -> LibraryTokenizer:
        vocabulary = {name: number for number, name in enumerate([*FIXED_NAMES, *names])}
        library = LibraryTokenizer(models.BPE(vocabulary, [], unk_token=SYMBOLS.unknown, byte_fallback=True))
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        return library

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        return "it merges characters" if model.get("merges") else ""

    def _extended(self, lines: Iterable[str], size: int) -> "Characters":
        known = [self.piece(number) for number in range(len(FIXED_NAMES), self.vocabulary_size)]
        candidates = common_characters(lines, 1, size + len(known))
        new = [character for character in candidates if character not in self.ids_of_names]
        return Characters.of([*known, *new[: size - self.vocabulary_size]])


def train_characters(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> Characters:
    """The characters that occur `minimum_frequency` times, the commonest first."""
    names = placeholder_names(placeholders)
    refuse_small(vocabulary_size, len(FIXED_NAMES) + len(names))
    room = vocabulary_size - len(FIXED_NAMES) - len(names)
    return Characters.of([*names, *common_characters(read_twice(lines), minimum_frequency, room)])
