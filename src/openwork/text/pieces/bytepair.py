"""Byte-pair encoding: starting from characters, the commonest pair of neighbours becomes a piece, again and again.

Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over characters; what
is too rare to learn is written as bytes. The same lines always give the same vocabulary.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.text.pieces.alphabet import (
    COMMON,
    LONGEST_PIECE,
    common_characters,
    read_twice,
    refuse_small,
    without_rare,
    words_of_common,
)
from openwork.text.pieces.further import further_merges
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import FIXED_NAMES, SPLIT, SYMBOLS, placeholder_names

Merges = list[tuple[str, str]]


class BytePair(LearntTokenizer):
    """Pieces by merges, and bytes for a character that has no piece. Nothing is lost."""

    kind = "byte-pair"
    has_many_ways = True

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of({name: number for number, name in enumerate(FIXED_NAMES)}, [])

    @classmethod
    def from_merges(cls, vocabulary: dict[str, int], merges: Merges) -> "BytePair":
        """The tokenizer with these pieces; ids 0 to 259 must be `FIXED_NAMES`."""
        return cls(cls._library_of(vocabulary, merges))

    @staticmethod
    def _library_of(vocabulary: dict[str, int], merges: Merges) -> LibraryTokenizer:
        library = LibraryTokenizer(models.BPE(vocabulary, merges, unk_token=SYMBOLS.unknown, byte_fallback=True))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(SPLIT), behavior="isolated")
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        # The symbols are not registered with the library: it would cut them out of ordinary text.
        return library

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        return flaw_of_merges(model, FIXED_NAMES)

    def _extended(self, lines: Iterable[str], size: int) -> "BytePair":
        """New characters first (as many as half of the room takes), then merges of the pieces that the lines have."""
        lines = read_twice(lines)
        vocabulary, merges = dict(self.ids_of_names), merges_of(self._model)
        known = {name for name in vocabulary if len(name) == 1}
        new = [c for c in common_characters(lines, COMMON, len(known) + size) if c not in known]
        for character in sorted(new[: (size - len(vocabulary)) // 2]):
            vocabulary[character] = len(vocabulary)
        with_characters = BytePair.from_merges(vocabulary, merges)
        alphabet = [name for name in vocabulary if len(name) == 1]
        words = with_characters.count_words(without_rare(lines, alphabet), words_of_common(SPLIT))
        vocabulary, further = further_merges(words, vocabulary, size, 2)
        return BytePair.from_merges(vocabulary, merges + further)

    def count_words(self, lines: Iterable[str], cut: pre_tokenizers.PreTokenizer) -> Mapping[tuple[str, ...], int]:
        """The distinct words of the lines in this tokenizer's pieces, with their counts."""
        counts = Counter(word for line in lines for word, _ in cut.pre_tokenize_str(line))
        return {self.algorithm.work(word).pieces: count for word, count in counts.items()}


def flaw_of_merges(model: Mapping[str, Any], fixed: tuple[str, ...]) -> str:
    """What makes merges from a file unfit."""
    merges = model.get("merges")
    if not isinstance(merges, list) or not all(isinstance(merge, list) and len(merge) == 2 for merge in merges):
        return "its merges are not pairs"
    if any("".join(map(str, merge)) in fixed for merge in merges):
        return "its merges would let text forge a symbol"
    return ""


def merges_of(model: Mapping[str, Any]) -> Merges:
    """The merges of a model as the library writes it."""
    return [(left, right) for left, right in model["merges"]]


def train_byte_pair(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> BytePair:
    """Learn at most `vocabulary_size` pieces (symbols, bytes and placeholders included) from the lines.

    A pair must occur `minimum_frequency` times to become a piece. A character that occurs `character_frequency` times
    gets a piece, the commonest first, as far as half of the room goes; the others are left to bytes.
    The lines are read twice; from an iterator they are therefore kept in memory.
    """
    fixed = [*FIXED_NAMES, *placeholder_names(placeholders)]
    refuse_small(vocabulary_size, len(fixed))
    lines = read_twice(lines)
    alphabet = common_characters(lines, character_frequency, (vocabulary_size - len(fixed)) // 2)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        min_frequency=minimum_frequency,
        special_tokens=fixed,
        max_token_length=LONGEST_PIECE,
        show_progress=False,
    )
    library = LibraryTokenizer(models.BPE(unk_token=SYMBOLS.unknown, byte_fallback=True))
    library.pre_tokenizer = words_of_common(SPLIT)
    library.train_from_iterator(without_rare(lines, alphabet), trainer)
    # The trainer registers the symbols as pieces to be cut out of text, so only its pieces and merges are kept.
    learnt = json.loads(library.to_str())["model"]
    return BytePair.from_merges(learnt["vocab"], merges_of(learnt))
