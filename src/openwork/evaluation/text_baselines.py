"""Baselines of those that write: the first words of the text itself, and what the most similar known text was given."""

from collections.abc import Callable, Sequence
from typing import Literal

from openwork.data.records import Pair
from openwork.evaluation.nearest import Nearest
from openwork.metrics.rouge import rouge

By = Literal["lead", "nearest"]
LONGEST_LEAD, TRIED = 40, 1000  # words, and training pairs that its length is chosen on


def lead(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The first words behind the text `behind`, as many as score best by ROUGE-L on training pairs."""
    some = [(_words(pair.source, behind), pair.target) for pair in train[:TRIED]]

    def score(count: int) -> float:
        return sum(rouge(target, " ".join(words[:count])).longest for words, target in some)

    count = max(range(1, LONGEST_LEAD + 1), key=score)
    return f"the first {count} words of the text", [" ".join(_words(text, behind)[:count]) for text in texts]


def _words(text: str, behind: str) -> list[str]:
    before, found, after = text.partition(behind) if behind else ("", "", text)
    return (after if found or not behind else before).split()


def nearest(train: Sequence[Pair], texts: Sequence[str], behind: str = "") -> tuple[str, list[str]]:
    """The target of the training pair whose source is most like the text, of both what stands behind `behind`."""
    known = Nearest([" ".join(_words(pair.source, behind)) for pair in train])
    told = [train[known.find(" ".join(_words(text, behind)))[0]].target for text in texts]
    return "the target of the most similar training text (tf-idf, cosine)", told


BASELINES: dict[By, Callable[[Sequence[Pair], Sequence[str], str], tuple[str, list[str]]]] = {
    "lead": lead,
    "nearest": nearest,
}
