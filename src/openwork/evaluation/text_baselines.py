"""Baselines of text generation: the first words of the text, and the target of the most similar training text.

A text is a vector of its words, each with weight (1 + ln count) (1 + ln((1 + texts) / (1 + texts that have it))), and
the similarity of two texts is the cosine of their vectors (Salton and Buckley, "Term-weighting approaches in automatic
text retrieval", 1988).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from openwork.data.records import Pair
from openwork.metrics.translation import rouge
from openwork.text.languages import plain_words

By = Literal["lead", "nearest"]
LONGEST_LEAD, TRIED = 40, 1000  # words, and training pairs that its length is chosen on


class Nearest:
    """Finds the most similar of some texts; of equally similar ones the first."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(plain_words(text)) for text in texts]
        within = Counter(word for counts in counted for word in counts)
        self.size = len(texts)
        self.rarity = {word: 1 + math.log((1 + self.size) / (1 + count)) for word, count in within.items()}
        entries: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for number, counts in enumerate(counted):
            for word, weight in self._vector(counts).items():
                entries[word].append((number, weight))
        self.entries = {
            word: (np.array([one for one, _ in found]), np.array([one for _, one in found]))
            for word, found in entries.items()
        }

    def _vector(self, counts: Counter[str]) -> dict[str, float]:
        """The vector of the known words, of length 1."""
        weights = {word: (1 + math.log(count)) * self.rarity[word] for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def find(self, text: str) -> tuple[int, float]:
        """The number of the most similar text and their cosine; (0, 0) if no word is known."""
        known = Counter({word: count for word, count in Counter(plain_words(text)).items() if word in self.rarity})
        cosines = np.zeros(self.size)
        for word, weight in self._vector(known).items():
            numbers, weights = self.entries[word]
            cosines[numbers] += weight * weights
        best = int(cosines.argmax())
        return best, float(cosines[best])


def lead(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The first words after the text `behind`; their number gives the best ROUGE-L on training pairs."""
    some = [(_words(pair.source, behind), pair.target) for pair in train[:TRIED]]

    def score(count: int) -> float:
        return sum(rouge(target, " ".join(words[:count])).longest for words, target in some)

    count = max(range(1, LONGEST_LEAD + 1), key=score)
    return f"the first {count} words of the text", [" ".join(_words(text, behind)[:count]) for text in texts]


def _words(text: str, behind: str) -> list[str]:
    before, found, after = text.partition(behind) if behind else ("", "", text)
    return (after if found or not behind else before).split()


def nearest(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The target of the training pair with the most similar source; both texts are compared after `behind`."""
    known = Nearest([" ".join(_words(pair.source, behind)) for pair in train])
    found = [train[known.find(" ".join(_words(text, behind)))[0]].target for text in texts]
    return "the target of the most similar training text (tf-idf, cosine)", found


BASELINES: dict[By, Callable[[Sequence[Pair], Sequence[str], str], tuple[str, list[str]]]] = {
    "lead": lead,
    "nearest": nearest,
}
