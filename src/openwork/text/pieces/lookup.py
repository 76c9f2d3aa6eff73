"""Whole words: a word is in the vocabulary, or it is unknown."""

from collections.abc import Mapping
from typing import Any

from openwork.text.work import Match, WordWork


class Lookup:
    """The words of a vocabulary."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        """From a WordLevel model as the `tokenizers` library writes it."""
        self.vocabulary: Mapping[str, int] = model["vocab"]
        self.unknown: str = model["unk_token"]

    def work(self, word: str) -> WordWork:
        """One look into the vocabulary."""
        found = word in self.vocabulary
        return WordWork(word, (), (Match(0, word, found),), (word if found else self.unknown,))
