"""ROUGE: how many words of a summary stand in the right one, and the other way round (Lin 2004).

ROUGE-N counts sequences of N words, each as often as it occurs on both sides; ROUGE-L the longest common subsequence.
Each is the F1 of one text, from 0 to 1, and a corpus has the mean of its texts. Words are runs of a to z and 0 to 9 in
lower case, without stemming, as the usual program (rouge_score) has them, and besides, Chinese characters one by one;
what other scripts write counts as nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from openwork.metrics.labels import f1

_WORD = re.compile(r"[a-z0-9]+|[\u3400-\u9fff]")


class Rouge(NamedTuple):
    """Of one text, from 0 to 1: single words, pairs of words, and the longest common subsequence."""

    one: float
    two: float
    longest: float


def rouge(reference: str, told: str) -> Rouge:
    """All three of one text; 0 where a side has nothing to count."""
    right, said = words(reference), words(told)
    common = longest_common(right, said)
    return Rouge(_overlap(right, said, 1), _overlap(right, said, 2), f1(common, len(said), len(right)))


def words(text: str) -> list[str]:
    """The words of a text as ROUGE counts them."""
    return _WORD.findall(text.lower())


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words the longest sequence has that is left of both where words are taken away."""
    row = [0] * (len(second) + 1)  # of the words of `first` so far, with each beginning of `second`
    for one in first:
        diagonal = 0
        for place, other in enumerate(second, start=1):
            diagonal, row[place] = row[place], diagonal + 1 if one == other else max(row[place], row[place - 1])
    return row[-1]


def _overlap(right: Sequence[str], said: Sequence[str], size: int) -> float:
    counts = [Counter(zip(*(side[start:] for start in range(size)), strict=False)) for side in (right, said)]
    return f1((counts[0] & counts[1]).total(), counts[1].total(), counts[0].total())
