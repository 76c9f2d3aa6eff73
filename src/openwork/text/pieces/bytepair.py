"""Byte-pair encoding: starting from characters, the commonest pair of neighbours becomes a piece, again and again.

Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over characters; what
is too rare to learn is written as bytes. The same lines always give the same vocabulary. With dropout: Provilkov,
Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword Regularization" (2020), algorithm 1.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, Self

from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import decoders, models, pre_tokenizers, trainers

from openwork.text.pieces.alphabet import (
    COMMON,
    LONGEST_PIECE,
    common_characters,
    isolated,
    without_rare,
    words_of_common,
)
from openwork.text.pieces.learnt import LearntTokenizer, trained_model
from openwork.text.tokenizer import SPLIT, SYMBOLS
from openwork.text.work import Algorithm, Merge, WordWork, byte_names

_WORDS_REMEMBERED = 50_000
Merges = list[tuple[str, str]]
_FIRST_SIGN = 0x10000  # of as many characters, none of them a space, as a vocabulary may have pieces


class Merging(Algorithm):
    """The merges of a vocabulary."""

    def __init__(self, model: Mapping[str, Any]) -> None:
        """From a BPE model as the `tokenizers` library writes it."""
        self.vocabulary: Mapping[str, int] = model["vocab"]
        self.prefix: str = model.get("continuing_subword_prefix") or ""
        self.suffix: str = model.get("end_of_word_suffix") or ""
        self.unknown: str | None = model.get("unk_token")
        self.byte_fallback: bool = bool(model.get("byte_fallback"))
        pairs = (merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"])
        self._certain: dict[str, WordWork] = {}
        self.ranks = {(left, right): rank for rank, (left, right) in enumerate(pairs)}

    def work(self, word: str) -> WordWork:
        start = self._start(word)
        steps: list[Merge] = []
        pieces = self._merged(start, lambda: False, steps.append)
        return WordWork(word, tuple(start), tuple(steps), tuple(pieces))

    def sample(self, word: str, random: Random, strength: float) -> list[str]:
        """BPE-dropout: before each merge, every possible merge is left out with probability `strength`."""
        if word not in self._certain and len(self._certain) < _WORDS_REMEMBERED:
            self._certain[word] = self.work(word)
        certain = self._certain.get(word) or self.work(word)
        # As long as nothing is dropped, the merges are the certain ones: mostly these draws are all there is to do.
        draws = [random.random() < strength for _ in certain.steps]
        if not any(draws):
            return list(certain.pieces)
        draws.reverse()
        start = list(certain.start)
        return self._merged(start, lambda: draws.pop() if draws else random.random() < strength, lambda merge: None)

    def _start(self, word: str) -> list[str]:
        """A piece a character; bytes, or the unknown symbol, for a character that has none."""
        pieces: list[str] = []
        for place, character in enumerate(word):
            piece = self.prefix * (place > 0) + character + self.suffix * (place == len(word) - 1)
            if piece in self.vocabulary:
                pieces.append(piece)
            elif self.byte_fallback and all(name in self.vocabulary for name in byte_names(piece)):
                pieces += byte_names(piece)
            elif self.unknown is not None:
                pieces.append(self.unknown)
        return pieces

    def _merged(self, start: list[str], is_dropped: Callable[[], bool], record: Callable[[Merge], None]) -> list[str]:
        """The pieces when nothing is left to merge.

        Candidates are taken by rank and drawn one at a time until one is not dropped: which one that is has the same
        probability as when all are drawn first and the best survivor is taken, and costs less.
        """
        pieces: list[str | None] = list(start)
        before, after = list(range(-1, len(start) - 1)), list(range(1, len(start) + 1))
        waiting: list[tuple[int, int, str, str]] = []

        def consider(place: int) -> None:
            if place >= 0 and after[place] < len(pieces):
                left, right = pieces[place], pieces[after[place]]
                if left is not None and right is not None and (rank := self.ranks.get((left, right))) is not None:
                    heapq.heappush(waiting, (rank, place, left, right))

        for place in range(len(start) - 1):
            consider(place)
        dropped: list[tuple[int, int, str, str]] = []
        while waiting:
            candidate = rank, place, left, right = heapq.heappop(waiting)
            neighbour = after[place]
            if pieces[place] != left or neighbour >= len(pieces) or pieces[neighbour] != right:
                continue  # one of the two has been merged meanwhile
            if is_dropped():
                dropped.append(candidate)
                continue
            record(Merge(rank, place, left, right))
            pieces[place], pieces[neighbour] = left + right[len(self.prefix) :], None
            after[place] = after[neighbour]
            if after[neighbour] < len(pieces):
                before[after[neighbour]] = place
            consider(before[place])
            consider(place)
            while dropped:  # for the next merge, all are drawn anew
                heapq.heappush(waiting, dropped.pop())
        return [piece for piece in pieces if piece is not None]


class BytePair(LearntTokenizer):
    """Pieces by merges, and bytes for a character that has no piece. Nothing is lost."""

    kind = "byte-pair"
    has_many_ways = True
    algorithm_type = Merging

    @classmethod
    def library(cls, names: Iterable[str] = (), merges: Iterable[tuple[str, str]] = ()) -> LibraryTokenizer:
        # The symbols are not registered with the library: it would cut them out of ordinary text.
        model = models.BPE(cls.vocabulary(names), list(merges), unk_token=SYMBOLS.unknown, byte_fallback=True)
        library = LibraryTokenizer(model)
        library.pre_tokenizer = isolated(SPLIT)
        library.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
        return library

    @classmethod
    def flaw(cls, model: dict[str, Any]) -> str:
        merges = model.get("merges")
        if not isinstance(merges, list) or not all(isinstance(merge, list) and len(merge) == 2 for merge in merges):
            return "its merges are not pairs"
        if any("".join(map(str, merge)) in cls.fixed_names for merge in merges):
            return "its merges would let text forge a symbol"
        return ""

    @classmethod
    def _learn(cls, lines: Iterable[str], names: list[str], room: int, frequency: int, of_character: int) -> Self:
        lines = without_rare(lines, common_characters(lines, of_character, room // 2))
        return cls._merged(lines, words_of_common(SPLIT), names, room, frequency, byte_fallback=True)

    @classmethod
    def _merged(
        cls, lines: Iterable[str], cut: pre_tokenizers.PreTokenizer, names: list[str], room: int, frequency: int,
        byte_fallback: bool = False,
    ) -> Self:  # fmt: skip
        """The pieces that the library's trainer finds in the words of the lines."""
        fixed = [*cls.fixed_names, *names]
        trainer = trainers.BpeTrainer(
            vocab_size=len(fixed) + room,
            min_frequency=frequency,
            special_tokens=fixed,
            max_token_length=LONGEST_PIECE,
            show_progress=False,
        )
        model = trained_model(models.BPE(unk_token=SYMBOLS.unknown, byte_fallback=byte_fallback), cut, lines, trainer)
        return cls.of(cls.names_after_fixed(model["vocab"]), merges_of(model))

    def _extended(self, lines: Iterable[str], size: int) -> Self:
        """New characters first (as many as half of the room takes), then merges of the pieces that the lines have."""
        known = {name for name in self.ids_of_names if len(name) == 1}
        new = [c for c in common_characters(lines, COMMON, len(known) + size) if c not in known]
        new = sorted(new[: (size - self.vocabulary_size) // 2])
        with_characters = self.of([*self.learnt_names, *new], merges_of(self._model))
        return with_characters._with_further_merges(without_rare(lines, {*known, *new}), words_of_common(SPLIT), size)

    def _with_further_merges(self, lines: Iterable[str], cut: pre_tokenizers.PreTokenizer, size: int) -> Self:
        """The library's trainer goes on from the pieces that the words have now: each is one character to it."""
        words = Counter(word for line in lines for word, _ in cut.pre_tokenize_str(line))
        signs = {name: chr(_FIRST_SIGN + number) for name, number in self.ids_of_names.items()}
        spelt = {"".join(signs[name] for name in self.algorithm.work(word).pieces): n for word, n in words.items()}
        trainer = trainers.BpeTrainer(
            vocab_size=len(set().union(*spelt)) + size - self.vocabulary_size,
            min_frequency=2,
            max_token_length=LONGEST_PIECE,
            show_progress=False,
        )
        every = (word for word, count in spelt.items() for _ in range(count))
        names, merges = {sign: name for name, sign in signs.items()}, merges_of(self._model)
        for left, right in merges_of(trained_model(models.BPE(), pre_tokenizers.WhitespaceSplit(), every, trainer)):
            if left in names and right in names and len(names[left] + names[right]) <= LONGEST_PIECE:
                names[left + right] = names[left] + names[right]
                merges.append((names[left], names[right]))
        new = dict.fromkeys(name for name in names.values() if name not in self.ids_of_names)
        return self.of([*self.learnt_names, *new], merges)

    def _with_parts(self, names: set[str]) -> set[str]:
        """All that a merge on the way to one of the names makes: no piece can come about without its parts."""
        made_of: dict[str, set[str]] = {}
        for left, right in merges_of(self._model):
            made_of.setdefault(left + right, set()).update((left, right))
        found, waiting = set(names), list(names)
        while waiting:
            for part in made_of.get(waiting.pop(), ()):
                if part not in found:
                    found.add(part)
                    waiting.append(part)
        return found

    def _of_these(self, names: set[str]) -> Self:
        merges = [(one, other) for one, other in merges_of(self._model) if one + other in names]
        return self.of([name for name in self.learnt_names if name in names], merges)


def merges_of(model: Mapping[str, Any]) -> Merges:
    """The merges of a model as the library writes it."""
    return [(left, right) for left, right in model["merges"]]
