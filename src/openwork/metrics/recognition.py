"""Error rates of recognised speech: words and characters that are wrong, by jiwer (the extra `audio`)."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import UsageError
from openwork.metrics.ratio import check_counts
from openwork.metrics.significance import interval
from openwork.metrics.translation import Score


def error_rates(hypotheses: Sequence[str], references: Sequence[str], *, bootstrap: int = 0) -> tuple[Score, Score]:
    """Word and character error rate in percent: substitutions, deletions and insertions over what the references have.

    They can exceed 100. White space between words counts once, none at the ends; case and punctuation count.
    `bootstrap` is the number of resamples, 0 for none. DataError if the two counts differ, UsageError without jiwer.
    """
    check_counts(hypotheses, references)
    jiwer = _jiwer()
    sides = [[" ".join(text.split()) for text in side] for side in (hypotheses, references)]
    signature = f"jiwer {version('jiwer')}, cased, with punctuation"
    return (
        _rate("WER", signature, [_counts(jiwer.process_words, *pair) for pair in zip(*sides, strict=True)], bootstrap),
        _rate("CER", signature, [_counts(jiwer.process_characters, *p) for p in zip(*sides, strict=True)], bootstrap),
    )


def _counts(process: Callable[[str, str], Any], hypothesis: str, reference: str) -> tuple[int, int]:
    """Errors of a hypothesis, and words or characters of its reference."""
    found = process(reference, hypothesis)
    errors = found.substitutions + found.deletions + found.insertions
    return errors, found.hits + found.substitutions + found.deletions


def _rate(name: str, signature: str, counts: list[tuple[int, int]], bootstrap: int) -> Score:
    errors, lengths = np.array(counts, np.float64).reshape(-1, 2).T

    def rate(rows: NDArray[np.integer]) -> float:
        total = lengths[rows].sum()
        return float(100 * errors[rows].sum() / total) if total else float("nan")

    low, high = interval(rate, len(counts), bootstrap) if bootstrap else (None, None)
    return Score(name, rate(np.arange(len(counts))), low, high, signature)


def _jiwer() -> Any:
    try:
        import jiwer
    except ImportError as error:
        raise UsageError(
            "error rates need the package jiwer, which is not installed",
            hint="pip install jiwer (the extra audio)",
            code="U119",
        ) from error
    return jiwer
