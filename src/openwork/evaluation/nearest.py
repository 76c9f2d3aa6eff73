"""What the most similar known text was answered with: the baseline of whoever writes rather than labels.

A text is a vector of its words, each with (1 + ln count) (1 + ln((1 + texts) / (1 + texts that have it))), and two
are as similar as the cosine of their vectors (Salton and Buckley, "Term-weighting approaches in automatic text
retrieval", 1988).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from openwork.text.scripts import plain_words


class Nearest:
    """Finds the most similar of some texts, the first of those that are equally so."""

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
        """Of length 1, of the words that are known."""
        weights = {word: (1 + math.log(count)) * self.rarity[word] for word, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    def find(self, text: str) -> tuple[int, float]:
        """The number of the most similar text, and the cosine; (0, 0) where no word is known."""
        known = Counter({word: count for word, count in Counter(plain_words(text)).items() if word in self.rarity})
        cosines = np.zeros(self.size)
        for word, weight in self._vector(known).items():
            numbers, weights = self.entries[word]
            cosines[numbers] += weight * weights
        best = int(cosines.argmax())
        return best, float(cosines[best])
