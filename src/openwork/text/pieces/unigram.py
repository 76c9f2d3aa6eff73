"""Unigram pieces: a probability for each, and of all ways to cut a word the most probable.

Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates" (2018),
section 3.2. What is too rare for a piece is written as bytes. Nothing is lost. Learning is several times slower than
that of merges.
"""

import json
from collections.abc import Iterable

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from openwork.text.pieces.alphabet import (
    COMMON,
    common_characters,
    read_twice,
    refuse_small,
    without_rare,
    words_of_common,
)
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.text.symbols import FIXED_NAMES, SPLIT, SYMBOLS, placeholder_names

Scored = list[tuple[str, float]]
_DIGITS = 6  # of a score: the last ones depend on the order in which threads have added
_RARE_STEP = 1e-4


class Unigram(LearntTokenizer):
    """The pieces of the best sum of log-probabilities, and bytes for a character that has no piece."""

    kind = "unigram"
    has_many_ways = True

    @classmethod
    def skeleton(cls) -> LibraryTokenizer:
        return cls._library_of([])

    @classmethod
    def of(cls, pieces: Scored) -> "Unigram":
        """The tokenizer with these placeholders and scored pieces after the fixed ones."""
        return cls(cls._library_of(pieces))

    @staticmethod
    def _library_of(pieces: Scored) -> LibraryTokenizer:
        scored = [(name, 0.0) for name in FIXED_NAMES] + pieces
        library = LibraryTokenizer(models.Unigram(scored, FIXED_NAMES.index(SYMBOLS.unknown), byte_fallback=True))
        library.pre_tokenizer = pre_tokenizers.Split(Regex(SPLIT), behavior="isolated")
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        return library

    def _extended(self, lines: Iterable[str], size: int) -> "Unigram":
        """The new pieces keep the scores that they have in a vocabulary of the new lines."""
        learnt = train_unigram(lines, size, placeholders=self.placeholders)
        new = [(name, score) for name, score in learnt.scored if name not in self.ids_of_names]
        return Unigram.of(self.scored + new[: size - self.vocabulary_size])

    @property
    def scored(self) -> Scored:
        """All pieces but the fixed ones, with their scores, by id."""
        return [(name, score) for name, score in self._model["vocab"][len(FIXED_NAMES) :]]


def train_unigram(
    lines: Iterable[str],
    vocabulary_size: int,
    *,
    minimum_frequency: int = 2,
    placeholders: int = 0,
    character_frequency: int = COMMON,
) -> Unigram:
    """Learn at most `vocabulary_size` pieces by expectation maximisation and pruning (the library's trainer).

    A character gets a piece if it occurs `character_frequency` times, as far as half of the room goes.
    `minimum_frequency` has no effect: a piece stays by its probability.
    """
    fixed = [*FIXED_NAMES, *placeholder_names(placeholders)]
    refuse_small(vocabulary_size, len(fixed))
    lines = read_twice(lines)
    alphabet = common_characters(lines, character_frequency, (vocabulary_size - len(fixed)) // 2)
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary_size, special_tokens=fixed, unk_token=SYMBOLS.unknown, show_progress=False
    )
    library = LibraryTokenizer(models.Unigram())
    library.pre_tokenizer = words_of_common(SPLIT)
    library.train_from_iterator(without_rare(lines, alphabet), trainer)
    learnt = json.loads(library.to_str())["model"]["vocab"][len(fixed) :]
    return Unigram.of([(name, 0.0) for name in fixed[len(FIXED_NAMES) :]] + _settled(learnt))


def _settled(learnt: list[list[str | float]]) -> Scored:
    """The pieces in an order and with scores that do not depend on the machine, best first.

    Characters that the pruning had thrown out come last: the library gives them back in any order, one step apart.
    """
    scores = {str(name): round(float(score), _DIGITS) for name, score in learnt}
    worst = min([score for name, score in scores.items() if len(name) > 1], default=0.0)
    rare = sorted(name for name, score in scores.items() if len(name) == 1 and score <= worst)
    for place, name in enumerate(rare, start=1):
        scores[name] = round(worst - place * _RARE_STEP, _DIGITS)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
