"""`openwork experiment power`: how many seeds and sentences a difference needs, before any of them is spent."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined, Padded, shown_width
from openwork.experiments.report.results import read_results
from openwork.metrics.power import LEAST_SEEDS, MOST_SEEDS, POWER, Spread, seeds_needed, sentences_needed
from openwork.metrics.two_way_bootstrap import (
    CORPUS_METRICS,
    corpus_metric,
    mean_score,
    mean_statistics,
    measured_spread,
    resample,
)

DIFFERENCES = (0.3, 0.5, 1.0, 2.0, 3.0)  # points of BLEU or chrF
SENTENCES = (500, 1_000, 2_000, 3_000)


def power_lines(
    spread: Spread, differences: Sequence[float] = DIFFERENCES, sentences: Sequence[int] = SENTENCES
) -> Iterator[str]:
    """Two tables of the seeds of each method that find a difference: on other texts like these, and on these alone."""
    yield msg(
        f"Standard deviations in points of the score: {spread.seeds:.2f} between seeds, {spread.sentences:.2f} between "
        f"the differences of sentences, {spread.both:.2f} of both together."
    )
    for title, new_texts in (
        (msg("Seeds of each method, for new seeds and new texts:"), True),
        (msg("Seeds of each method, for new seeds and these texts alone:"), False),
    ):
        yield ""
        yield title
        head = [msg("difference"), *(f"{count:,}" for count in sentences)]
        rows = [
            [f"{difference:g}", *(_needed(difference, spread, count, new_texts) for count in sentences)]
            for difference in differences
        ]
        yield from _columns([head, *rows])
    yield ""
    for difference in differences:
        least = sentences_needed(difference, spread)
        yield msg(f"A difference of {difference:g} needs {least:,} sentences at least, however many seeds there are.")
    yield msg(
        f"Power {100 * POWER:.0f} % at a level of 5 %, two-sided, of one comparison; columns are numbers of sentences. "
        f"A dash: not even {MOST_SEEDS:,} seeds. Fewer than {LEAST_SEEDS} seeds are never proposed."
    )


def spread_of_experiment(folder: Path) -> Spread:
    """What was measured in an experiment: the mean variances over all pairs of arms that the test set has scored.

    DataError: fewer than two arms have sentences of the test set with two seeds.
    """
    results = read_results(folder)
    by_corpus = results.metric in CORPUS_METRICS and any(arm.statistics is not None for arm in results.distinct)
    score = corpus_metric(results.metric).score if by_corpus else mean_score
    known = [table for arm in results.distinct if (table := arm.statistics if by_corpus else arm.sentences) is not None]
    drawn = [resample(table if by_corpus else mean_statistics(table), score) for table in known]
    found = [measured_spread(one, other) for one, other in combinations(drawn, 2)]
    if not found:
        raise DataError(
            f"{folder}: nothing to plan with was measured here",
            why="it takes two variants, each scored on a test set with two seeds",
            hint="give the standard deviations, or an experiment with a test set",
            code="D140",
        )
    squares = np.array([(one.seeds**2, one.sentences**2, one.both**2) for one in found]).mean(axis=0)
    return Spread(*map(float, np.sqrt(squares)))


def _needed(difference: float, spread: Spread, sentences: int, new_texts: bool) -> str:
    seeds = seeds_needed(difference, spread, sentences, new_texts=new_texts)
    return "–" if seeds is None else f"{seeds:,}"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows in columns of numbers, a heading first."""
    widths = [max(map(shown_width, column)) for column in zip(*rows, strict=True)]
    for place, row in enumerate(rows):
        texts = [cell if place == 0 and not at else AsIs(cell) for at, cell in enumerate(row)]
        cells = [Padded(text, width, right=True) for text, width in zip(texts, widths, strict=True)]
        yield Joined(*[part for cell in cells for part in ("  ", cell)])
