"""Words of a text, and which pieces belong to each."""

import re
from collections.abc import Sequence

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\s\u3040-\u30ff\u3400-\u9fff]+")


def words_of(text: str) -> list[tuple[int, int]]:
    """Characters (first, the one after the last) of each word: what stands between white space.

    Chinese and Japanese characters are words by themselves.
    """
    return [match.span() for match in WORD.finditer(text)]


def pieces_of(word: tuple[int, int], spans: Sequence[tuple[int, int] | None]) -> list[int]:
    """The places of the pieces that have a character of the word; a symbol has none."""
    return [place for place, span in enumerate(spans) if span and max(word[0], span[0]) < min(word[1], span[1])]
