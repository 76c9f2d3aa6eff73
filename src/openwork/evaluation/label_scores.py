"""How good told labels are, or texts where each is held against one: the scores of each task, with intervals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.tasks import Measured
from openwork.data.targets import is_word_number
from openwork.metrics.bootstrap import SEED, interval
from openwork.metrics.correlation import pearson, spearman
from openwork.metrics.labels import Labelled, accuracy, check_counts, f1, macro_f1, matthews, micro_f1
from openwork.metrics.rouge import rouge
from openwork.metrics.significance import Difference, Effort, Statistic, compare_statistic
from openwork.metrics.spans import Spans, count_spans, is_bio
from openwork.metrics.translation import Score


def label_scores(
    task: Measured, references: Sequence[str], told: Sequence[str], resamples: int = 0
) -> tuple[Score, ...]:
    """The scores of some examples, the task's own first; `resamples` of the bootstrap, 0 for no intervals.

    Each is from 0 to 100; Matthews' and the correlations are from -100 to 100.
    """
    check_counts(references, told)
    if not references:
        raise DataError(
            "there is nothing to evaluate",
            why="the corpus is empty",
            hint="name files with text, or another split of the corpus",
            code="D079",
        )
    found = _statistics(task, references, told)
    return tuple(_score(name, statistic, len(references), resamples) for name, statistic in found.items())


def label_differences(
    task: Measured, references: Sequence[str], first: Sequence[str], second: Sequence[str], effort: Effort
) -> tuple[Difference, ...]:
    """The same scores of two systems on the same examples, the task's own first, and what two tests say of them.

    Without those that are undefined for one of the two, as correlations of one number throughout.
    """
    check_counts(references, first)
    check_counts(references, second)
    found = _statistics(task, [*references, *references], [*first, *second])
    differences = (
        compare_statistic(name, statistic, len(references), effort)
        for name, statistic in found.items()
        if not np.isnan(statistic(np.arange(len(references))) + statistic(np.arange(len(references)) + len(references)))
    )
    return tuple(differences)


def _statistics(task: Measured, references: Sequence[str], told: Sequence[str]) -> dict[str, Statistic]:
    kinds = {"tag": _tag_statistics, "answer": _answer_statistics, "texts": _text_statistics}
    return kinds.get(task, _class_statistics)(references, told)


def _score(name: str, statistic: Statistic, count: int, resamples: int) -> Score:
    value = statistic(np.arange(count))
    if not resamples:
        return Score(name, 100 * value, None, None, f"n:{count}")
    low, high = interval(statistic, count, resamples)
    return Score(name, 100 * value, 100 * low, 100 * high, f"n:{count}|bs:{resamples}|seed:{SEED}")


def _class_statistics(references: Sequence[str], told: Sequence[str]) -> dict[str, Statistic]:
    right, said = ([text.strip() for text in side] for side in (references, told))
    labelled = Labelled.of(right, said)
    found: dict[str, Statistic] = {
        "accuracy": lambda chosen: accuracy(labelled[chosen]),
        "macro F1": lambda chosen: macro_f1(labelled[chosen]),
        "MCC": lambda chosen: matthews(labelled[chosen]),
    }
    names = sorted(set(right))
    if len(names) == 2:  # as GLUE scores tasks of two classes
        numbers = dict.fromkeys([*right, *said])
        others = [number for number, name in enumerate(numbers) if name != names[1]]
        found[f"F1 of {names[1]}"] = lambda chosen: micro_f1(labelled[chosen], others)
    first, second = _numbers(right), _numbers(said)
    if len(names) > 2 and first is not None and second is not None:
        found |= _correlations(first, second)
    return found


def _correlations(first: NDArray[np.float64], second: NDArray[np.float64]) -> dict[str, Statistic]:
    return {
        "Pearson": lambda chosen: pearson(first[chosen], second[chosen]),
        "Spearman": lambda chosen: spearman(first[chosen], second[chosen]),
    }


def _numbers(labels: Sequence[str]) -> NDArray[np.float64] | None:
    """The labels as numbers, if all of them are."""
    try:
        return np.array([float(label) for label in labels])
    except ValueError:
        return None


def _tag_statistics(references: Sequence[str], told: Sequence[str]) -> dict[str, Statistic]:
    """Of whole sentences, since the tags of one hang together."""
    right, said = ([text.split() for text in side] for side in (references, told))
    hits = np.array([_hits(*pair) for pair in zip(right, said, strict=True)])
    whole = np.array([first == second for first, second in zip(right, said, strict=True)], np.float64)
    found: dict[str, Statistic] = {}
    if is_bio(tag for row in right for tag in row):
        counts = np.array([count_spans(*pair) for pair in zip(right, said, strict=True)])

        def total(chosen: NDArray[np.intp]) -> Spans:
            return Spans(*counts[chosen].sum(axis=0).tolist())

        found["slot F1"] = lambda chosen: total(chosen).f1
        found["precision"] = lambda chosen: total(chosen).precision
        found["recall"] = lambda chosen: total(chosen).recall
    found["tags"] = lambda chosen: float(hits[chosen, 0].sum()) / max(float(hits[chosen, 1].sum()), 1.0)
    found["sentences"] = lambda chosen: float(whole[chosen].mean())
    return found


def _hits(right: Sequence[str], said: Sequence[str]) -> tuple[int, int]:
    """How many tags are right, of how many there are; a missing one is wrong."""
    return sum(first == second for first, second in zip(right, said, strict=False)), len(right)


def _answer_statistics(references: Sequence[str], told: Sequence[str]) -> dict[str, Statistic]:
    """Exact answers, and F1 over the words of both, an example at a time (Rajpurkar et al. 2016, section 6.1)."""
    right, said = ([_numbers_of_words(text) for text in side] for side in (references, told))
    overlaps = np.array([_overlap(*pair) for pair in zip(right, said, strict=True)])
    exact = np.array([first == second for first, second in zip(right, said, strict=True)], np.float64)
    return {
        "word F1": lambda chosen: float(overlaps[chosen].mean()),
        "exact": lambda chosen: float(exact[chosen].mean()),
    }


def _text_statistics(references: Sequence[str], told: Sequence[str]) -> dict[str, Statistic]:
    """ROUGE, and the share of texts that are right to the letter, an example at a time."""
    pairs = list(zip(references, told, strict=True))
    found = np.array([rouge(*pair) for pair in pairs])
    exact = np.array([right.strip() == said.strip() for right, said in pairs], np.float64)
    return {
        "ROUGE-1": lambda chosen: float(found[chosen, 0].mean()),
        "ROUGE-2": lambda chosen: float(found[chosen, 1].mean()),
        "ROUGE-L": lambda chosen: float(found[chosen, 2].mean()),
        "exact": lambda chosen: float(exact[chosen].mean()),
    }


def _numbers_of_words(answer: str) -> range:
    """All numbers from the first to the last; none for no answer."""
    ends = [int(word) for word in answer.split() if is_word_number(word)]
    return range(ends[0], ends[-1] + 1) if ends else range(0)


def _overlap(right: range, said: range) -> float:
    """1 where both say that there is no answer."""
    shared = range(max(right.start, said.start), min(right.stop, said.stop))
    return f1(len(shared), len(said), len(right)) if right or said else 1.0
