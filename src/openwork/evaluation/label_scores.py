"""Scores of predicted labels, and of texts with one reference each: those of each task, with intervals."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from math import inf, log2
from operator import eq
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.tasks import Measured
from openwork.data.targets import is_word_number
from openwork.metrics import labels
from openwork.metrics.ratio import check_counts, f1
from openwork.metrics.significance import SEED, Difference, Effort, Statistic, compare_statistic, interval
from openwork.metrics.translation import Score, rouge

RANKED = 10  # names that are scored of those that may come next
Examples = TypeVar("Examples", bound=Sequence[Any])


def check_not_empty(examples: Examples) -> Examples:
    """The examples. DataError if there are none."""
    if not examples:
        raise DataError(
            "there is nothing to evaluate",
            why="the corpus is empty",
            hint="name files with text, or another split of the corpus",
            code="D079",
        )
    return examples


def label_scores(
    task: Measured, references: Sequence[str], predicted: Sequence[str], resamples: int = 0
) -> tuple[Score, ...]:
    """The scores of some examples, the task's own first; `resamples` of the bootstrap, 0 for no intervals.

    Each is from 0 to 100; Matthews' and the correlations are from -100 to 100.
    """
    check_counts(predicted, references)
    count = len(check_not_empty(references))
    found = []
    for name, statistic in _statistics(task, references, predicted).items():
        value, low, high, signature = statistic(np.arange(count)), None, None, f"n:{count}"
        if resamples:
            low, high = (100 * bound for bound in interval(statistic, count, resamples))
            signature += f"|bs:{resamples}|seed:{SEED}"
        found.append(Score(name, 100 * value, low, high, signature))
    return tuple(found)


def top_score(references: Sequence[str], listed: Sequence[Sequence[str]], count: int, resamples: int = 0) -> Score:
    """How often the right label is among the `count` most probable ones, which are `listed` of each example."""
    hits = np.array([label.strip() in names[:count] for label, names in zip(references, listed, strict=True)], float)
    mean, number = partial(_mean, hits), len(check_not_empty(references))
    low, high = (100 * bound for bound in interval(mean, number, resamples)) if resamples else (None, None)
    signature = f"n:{number}" + (f"|bs:{resamples}|seed:{SEED}" if resamples else "")
    return Score(f"top-{count} accuracy", 100 * float(hits.mean()), low, high, signature)


def label_differences(
    task: Measured, references: Sequence[str], first: Sequence[str], second: Sequence[str], effort: Effort
) -> tuple[Difference, ...]:
    """The same scores of two systems on the same examples, each with two significance tests.

    A score that is undefined for one of the systems is left out, such as the correlation of a constant.
    """
    check_counts(first, references)
    check_counts(second, references)
    found = _statistics(task, [*references, *references], [*first, *second])
    count, places = len(references), np.arange(len(references))
    return tuple(
        compare_statistic(name, statistic, count, effort)
        for name, statistic in found.items()
        if not np.isnan(statistic(places) + statistic(places + count))
    )


def _statistics(task: Measured, references: Sequence[str], predicted: Sequence[str]) -> dict[str, Statistic]:
    kinds = {"tag": _tag_statistics, "answer": _answer_statistics, "texts": _text_statistics, "next": _next_statistics}
    return kinds.get(task, _class_statistics)(references, predicted)


def _class_statistics(references: Sequence[str], predicted: Sequence[str]) -> dict[str, Statistic]:
    expected, given = ([text.strip() for text in side] for side in (references, predicted))
    labelled = labels.Labelled.of(expected, given)
    found: dict[str, Statistic] = {
        "accuracy": lambda chosen: labels.accuracy(labelled[chosen]),
        "macro F1": lambda chosen: labels.macro_f1(labelled[chosen]),
        "MCC": lambda chosen: labels.matthews(labelled[chosen]),
    }
    names = sorted(set(expected))
    if len(names) == 2:  # as GLUE scores tasks of two classes
        numbers = dict.fromkeys([*expected, *given])
        others = [number for number, name in enumerate(numbers) if name != names[1]]
        found[f"F1 of {names[1]}"] = lambda chosen: labels.micro_f1(labelled[chosen], others)
    if len(names) > 2:
        with suppress(ValueError):  # labels that are no numbers
            first, second = (np.array([float(label) for label in side]) for side in (expected, given))
            found["Pearson"] = lambda chosen: labels.pearson(first[chosen], second[chosen])
            found["Spearman"] = lambda chosen: labels.spearman(first[chosen], second[chosen])
    return found


def _tag_statistics(references: Sequence[str], predicted: Sequence[str]) -> dict[str, Statistic]:
    """Resampled by sentences, since the tags of one sentence depend on each other."""
    expected, given = ([text.split() for text in side] for side in (references, predicted))
    # right tags and all tags of each sentence; a missing tag is wrong
    hits = np.array([(sum(map(eq, *pair)), len(pair[0])) for pair in zip(expected, given, strict=True)])
    whole = np.array([first == second for first, second in zip(expected, given, strict=True)], np.float64)
    found: dict[str, Statistic] = {}
    if labels.is_bio(tag for row in expected for tag in row):
        counts = np.array([labels.count_spans(*pair) for pair in zip(expected, given, strict=True)])

        def total(chosen: NDArray[np.intp]) -> labels.Spans:
            return labels.Spans(*counts[chosen].sum(axis=0).tolist())

        found["slot F1"] = lambda chosen: total(chosen).f1
        found["precision"] = lambda chosen: total(chosen).precision
        found["recall"] = lambda chosen: total(chosen).recall
    found["tags"] = lambda chosen: float(hits[chosen, 0].sum()) / max(float(hits[chosen, 1].sum()), 1.0)
    found["sentences"] = partial(_mean, whole)
    return found


def _answer_statistics(references: Sequence[str], predicted: Sequence[str]) -> dict[str, Statistic]:
    """Exact answers, and F1 over the words of both, an example at a time (Rajpurkar et al. 2016, section 6.1)."""
    sides = ([_numbers_of_words(text) for text in side] for side in (references, predicted))
    rows = [(_overlap(expected, given), expected == given) for expected, given in zip(*sides, strict=True)]
    return _means(("word F1", "exact"), rows)


def _text_statistics(references: Sequence[str], predicted: Sequence[str]) -> dict[str, Statistic]:
    """ROUGE and the share of exact matches, an example at a time."""
    pairs = zip(references, predicted, strict=True)
    rows = [(*rouge(expected, given), expected.strip() == given.strip()) for expected, given in pairs]
    return _means(("ROUGE-1", "ROUGE-2", "ROUGE-L", "exact"), rows)


def _next_statistics(references: Sequence[str], predicted: Sequence[str]) -> dict[str, Statistic]:
    """Each line names what may come next, best first, and one reference comes.

    Hits, the discounted gain 1 / log2(1 + rank) (Järvelin and Kekäläinen 2002, with one right answer) and 1 / rank.
    """
    lines = zip(references, predicted, strict=True)
    ranks = [1 + names.index(one) if (one := name.strip()) in (names := line.split()) else inf for name, line in lines]
    rows = [(rank == 1, rank <= RANKED, 1 / log2(1 + rank), 1 / rank) for rank in ranks]
    return _means(("hit@1", f"hit@{RANKED}", f"NDCG@{RANKED}", f"MRR@{RANKED}"), rows)


def _means(names: Sequence[str], rows: Sequence[Sequence[float]]) -> dict[str, Statistic]:
    columns = zip(names, np.array(rows, np.float64).T, strict=True)
    return {name: partial(_mean, column) for name, column in columns}


def _mean(column: NDArray[np.float64], chosen: NDArray[np.intp]) -> float:
    return float(column[chosen].mean())


def _numbers_of_words(answer: str) -> range:
    ends = [int(word) for word in answer.split() if is_word_number(word)]
    return range(ends[0], ends[-1] + 1) if ends else range(0)


def _overlap(expected: range, given: range) -> float:
    """F1 over words; 1 where both have no answer."""
    shared = range(max(expected.start, given.start), min(expected.stop, given.stop))
    return f1(len(shared), len(given), len(expected)) if expected or given else 1.0
