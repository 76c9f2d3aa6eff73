"""What a corpus is like, in figures: how much there is, how long, how often the same, in which scripts.

Read once, as a stream; of each sentence eight bytes are kept (a hash), so that a corpus of many millions of pairs fits.
"""

import unicodedata
from array import array
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from openwork.data.records import Pair
from openwork.text.languages import script_of

PERCENTILES = (5, 50, 95, 99, 100)
_MOST_SCRIPTS = 6
_FEWEST_OF_A_SCRIPT = 0.0005  # of the letters; what is rarer is a foreign word here and there


def nearest_rank(counts: Counter[int], percent: float) -> int:
    """The smallest value that at least `percent` of all are not above; 0 if there are none.

    `counts`: how often each value occurs. Nearest-rank percentile: it is always a value that occurs.
    """
    rank = max(1, -(-sum(counts.values()) * percent // 100))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    return 0


class SentenceHashes:
    """Hashes of sentences, in the order in which they came (64 bits: of ten million, two agree by chance in 300,000
    such corpora)."""

    def __init__(self) -> None:
        self._hashes = array("Q")

    def add(self, text: str) -> None:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self._hashes.append(int.from_bytes(digest, "little"))

    @property
    def repeated(self) -> int:
        """How many came again after their first time."""
        return len(self._hashes) - len(np.unique(self._as_array()))

    def among(self, others: "SentenceHashes") -> int:
        """How many of these occur among the others, each as often as it came."""
        return int(np.isin(self._as_array(), others._as_array()).sum())

    def _as_array(self) -> NDArray[np.uint64]:
        return np.frombuffer(self._hashes, np.uint64) if self._hashes else np.empty(0, np.uint64)


@dataclass
class SideStatistics:
    """One side of the pairs. Words are what white space separates: mind that Chinese and Thai have next to none."""

    empty: int = 0
    words: int = 0
    characters: int = 0
    lengths_in_words: Counter[int] = field(default_factory=Counter)
    lengths_in_characters: Counter[int] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    seen: SentenceHashes = field(default_factory=SentenceHashes)

    def add(self, text: str) -> None:
        """Count one sentence; a blank one counts as empty, with the characters that it has."""
        words = len(text.split())
        self.empty += words == 0
        self.words += words
        self.characters += len(text)
        self.lengths_in_words[words] += 1
        self.lengths_in_characters[len(text)] += 1
        self.used.update(text)
        self.seen.add(text)

    def scripts(self) -> dict[str, float]:
        """The share of each script in the letters, the commonest first."""
        letters: Counter[str] = Counter()
        for character, count in self.used.items():
            if unicodedata.category(character).startswith("L"):
                letters[script_of(character)] += count
        total = sum(letters.values())
        common = letters.most_common(_MOST_SCRIPTS)
        return {script: count / total for script, count in common if count >= _FEWEST_OF_A_SCRIPT * total}


@dataclass
class CorpusStatistics:
    """A corpus, or one split of it. `ratios`: target characters per hundred source characters, of pairs with both."""

    pairs: int = 0
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)
    identical: int = 0
    ratios: Counter[int] = field(default_factory=Counter)
    seen: SentenceHashes = field(default_factory=SentenceHashes)

    def add(self, pair: Pair) -> None:
        self.pairs += 1
        self.source.add(pair.source)
        self.target.add(pair.target)
        self.identical += pair.source == pair.target
        if pair.source and pair.target:
            self.ratios[round(100 * len(pair.target) / len(pair.source))] += 1
        self.seen.add(f"{pair.source}\n{pair.target}")  # no sentence holds a line end
