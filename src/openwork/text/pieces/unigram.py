"""Unigram pieces: a probability for each, and of all ways to cut a word the most probable.

Kudo, "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates" (2018),
sections 3.2 (the best way) and 3.3 (other ways, drawn with the probability that they have). What is too rare for a
piece is written as bytes. Nothing is lost. Learning is several times slower than that of merges.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter
from random import Random
from typing import Any, Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, trainers

from openwork.text.pieces.alphabet import common_characters, isolated, without_rare, words_of_common
from openwork.text.pieces.learnt import LearntTokenizer, trained_model
from openwork.text.tokenizer import FIXED_NAMES, SPLIT, SYMBOLS
from openwork.text.work import Algorithm, Arc, WordWork, byte_names

UNKNOWN_PENALTY = 10.0
"""How much worse than the worst piece a character without a piece is, as in SentencePiece."""
_WORDS_REMEMBERED = 20_000
Scored = list[tuple[str, float]]
_DIGITS = 6  # of a score: the last ones depend on the order in which threads have added
_RARE_STEP = 1e-4


class Lattice(Algorithm):
    """The pieces of a vocabulary with their scores."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        """From a Unigram model as the `tokenizers` library writes it."""
        # of equal pieces the library takes the last
        self.scores: dict[str, float] = {piece: float(score) for piece, score in model["vocab"]}
        unknown = model.get("unk_id")
        self.unknown: str = model["vocab"][unknown][0] if unknown is not None else ""
        self.byte_fallback: bool = bool(model.get("byte_fallback"))
        self._unknown_score = min(self.scores.values(), default=0.0) - UNKNOWN_PENALTY
        self._longest_piece = max(map(len, self.scores), default=1)
        self._forward: dict[tuple[str, float], tuple[list[list[tuple[int, float, bool]]], list[float]]] = {}

    def work(self, word: str) -> WordWork:
        """Every piece that fits somewhere, and the best way through them (Viterbi)."""
        best = [(0.0, 0, True)] + [(-math.inf, 0, True)] * len(word)  # total, begin, is known
        found: list[tuple[int, int, str, float, float]] = []
        for begin in range(len(word)):
            for end, score, known in self._pieces_at(word, begin):
                total = score + best[begin][0]
                found.append((begin, end, word[begin:end] if known else self.unknown, score, total))
                if total > best[end][0]:
                    best[end] = (total, begin, known)
        way: list[tuple[int, int, bool]] = []
        end = len(word)
        while end > 0:
            _, begin, known = best[end]
            way.append((begin, end, known))
            end = begin
        steps = tuple(Arc(*arc, best=best[arc[1]][:2] == (arc[4], arc[0])) for arc in found)
        return WordWork(word, (), steps, tuple(self._names(word, way)))

    def sample(self, word: str, random: Random, strength: float) -> list[str]:
        """A way drawn with a probability proportional to its own to the power `strength` (alpha in the paper).

        All ways are in the draw: forward sums, then backward from the end (the paper's l = infinity).
        """
        arcs, sums = self._sums(word, strength)
        way: list[tuple[int, int, bool]] = []
        end = len(word)
        while end > 0:
            here = arcs[end]
            weights = [math.exp(sums[begin] + strength * score - sums[end]) for begin, score, _ in here]
            begin, _, known = random.choices(here, weights)[0]
            way.append((begin, end, known))
            end = begin
        return self._names(word, way)

    def _pieces_at(self, word: str, begin: int) -> list[tuple[int, float, bool]]:
        """Where the pieces end that fit at `begin`, shortest first, with their scores and whether they are known."""
        found: list[tuple[int, float, bool]] = []
        for end in range(begin + 1, min(len(word), begin + self._longest_piece) + 1):
            if (score := self.scores.get(word[begin:end])) is not None:
                found.append((end, score, True))
        if not found or found[0][0] != begin + 1:
            found.append((begin + 1, self._unknown_score, False))
        return found

    def _sums(self, word: str, strength: float) -> tuple[list[list[tuple[int, float, bool]]], list[float]]:
        """For each end the pieces that lead to it, and the logarithm of the sum over all ways to it."""
        if (word, strength) in self._forward:
            return self._forward[word, strength]
        arcs: list[list[tuple[int, float, bool]]] = [[] for _ in range(len(word) + 1)]
        sums = [0.0] * (len(word) + 1)
        for begin in range(len(word)):
            for end, score, known in self._pieces_at(word, begin):
                arcs[end].append((begin, score, known))
            terms = [sums[other] + strength * score for other, score, _ in arcs[begin + 1]]
            largest = max(terms)
            sums[begin + 1] = largest + math.log(sum(math.exp(term - largest) for term in terms))
        if len(self._forward) < _WORDS_REMEMBERED:
            self._forward[word, strength] = arcs, sums
        return arcs, sums

    def _spelt(self, unknown: str) -> list[str]:
        """The pieces for characters that have none."""
        names = byte_names(unknown)
        can_spell = self.byte_fallback and all(name in self.scores for name in names)
        return names if can_spell else [self.unknown]

    def _names(self, word: str, way: list[tuple[int, int, bool]]) -> list[str]:
        """The names of the pieces of a way, given from its end; neighbouring unknown characters are spelt together."""
        names: list[str] = []
        for known, group in groupby(reversed(way), key=itemgetter(2)):
            pieces = [word[begin:end] for begin, end, _ in group]
            names += pieces if known else self._spelt("".join(pieces))
        return names


class Unigram(LearntTokenizer):
    """The pieces of the best sum of log-probabilities, and bytes for a character that has no piece."""

    kind = "unigram"
    has_many_ways = True
    algorithm_type = Lattice

    @classmethod
    def library(cls, names: Iterable[tuple[str, float]] = ()) -> LibraryTokenizer:
        """`names`: with their scores."""
        scored = [*((name, 0.0) for name in FIXED_NAMES), *names]
        library = LibraryTokenizer(models.Unigram(scored, FIXED_NAMES.index(SYMBOLS.unknown), byte_fallback=True))
        library.pre_tokenizer = isolated(SPLIT)
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        return library

    def _extended(self, lines: Iterable[str], size: int) -> Self:
        """The new pieces keep the scores that they have in a vocabulary of the new lines."""
        learnt = self.learn(lines, size, placeholders=self.placeholders)
        new = [(name, score) for name, score in learnt.scored if name not in self.ids_of_names]
        return self.of(self.scored + new[: size - self.vocabulary_size])

    def _of_these(self, names: set[str]) -> Self:
        return self.of([(name, score) for name, score in self.scored if name in names])

    @property
    def scored(self) -> Scored:
        """All pieces but the fixed ones, with their scores, by id."""
        return [(name, score) for name, score in self._model["vocab"][len(FIXED_NAMES) :]]

    @classmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        """By expectation maximisation and pruning (the library's trainer); `frequency` has no effect."""
        fixed = [*FIXED_NAMES, *names]
        lines = without_rare(lines, common_characters(lines, of_character, room // 2))
        trainer = trainers.UnigramTrainer(
            vocab_size=len(fixed) + room, special_tokens=fixed, unk_token=SYMBOLS.unknown, show_progress=False
        )
        learnt = trained_model(models.Unigram(), words_of_common(SPLIT), lines, trainer)["vocab"][len(fixed) :]
        return cls.of([(name, 0.0) for name in names] + _settled(learnt))


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
