"""The longest validation sentences, computed and translated as each validation will do it."""

import time
from dataclasses import dataclass

import numpy as np
import torch

from openwork.base.errors import OpenworkError
from openwork.decoding.scoring import length_limits
from openwork.inference.translator import BatchTranslator
from openwork.runs.preflight.subject import PreflightContext
from openwork.training.step import is_out_of_memory

SCORED = 5  # pairs that are scored on trial: a language that the metric cannot do is told now


@dataclass(frozen=True)
class ValidationTrial:
    """`sentences`: how many of the longest were translated together; `seconds`: that a whole validation may take.

    `problem`: what is wrong with the search of [decoding], which is first used when the bundle is written.
    """

    sentences: int
    seconds: float
    problem: str = ""


class _EnoughError(Exception):
    """The first batch is translated."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count


def try_validation(subject: PreflightContext) -> ValidationTrial:
    """OpenworkError where memory is not enough for it."""
    try:
        loss = _loss_seconds(subject)
        sentences, translating = _translate_longest(subject) if subject.validator.pairs else (0, 0.0)
        return ValidationTrial(sentences, loss + translating, _search_problem(subject))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        longest = int(max(subject.valid.source_lengths.max(), subject.valid.target_lengths.max()))
        raise OpenworkError(
            "there is not enough memory to validate with the longest validation sentences",
            why=f"the longest has {longest:,} pieces",
            hint="leave the longest out of the validation pairs, or take a smaller model",
            code="E025",
        ) from error


def _loss_seconds(subject: PreflightContext) -> float:
    """Of the loss of all validation pairs, from that of the batch with the longest."""
    validator, store = subject.validator, subject.valid
    longer = np.maximum(store.source_lengths, store.target_lengths) + 1
    rows = max(validator.plan, key=lambda rows: (int(longer[rows].max()), len(rows)))
    start = time.perf_counter()
    validator.loss([rows])
    return (time.perf_counter() - start) * float(longer.sum()) / (len(rows) * int(longer[rows].max()))


def _translate_longest(subject: PreflightContext) -> tuple[int, float]:
    """How many were translated together, and the seconds that all may take.

    A model that has learnt nothing does not end its sentences: each is searched up to its limit. Time is counted for
    targets as long as the references, since it goes with rows times steps.
    """
    validator, pairs = subject.validator, subject.validator.pairs
    start = time.perf_counter()

    def stop(count: int) -> None:
        raise _EnoughError(count)

    count = 0
    try:
        validator.translator.translate([pair.source for pair in pairs], advanced=stop)
    except _EnoughError as enough:
        count = enough.count
    seconds = time.perf_counter() - start
    if validator.scoring is not None:
        validator.scoring.scores(pairs[:SCORED], [pair.target for pair in pairs[:SCORED]])
    if count == 0:  # no pair has a visible character
        return 0, 0.0
    longest = torch.tensor([int(subject.valid.source_lengths[: len(pairs)].max()) + 1])
    steps = int(length_limits(longest, validator.translator.decoding))
    wanted = int(subject.valid.target_lengths[: len(pairs)].sum()) + len(pairs)
    side_by_side = min(max(1.0, len(pairs) / count), validator.translator.engine.cores)
    return count, seconds * wanted / (count * steps) / side_by_side


def _search_problem(subject: PreflightContext) -> str:
    """Translates a sentence as [decoding] says; the examples of the bundle will be."""
    if not subject.validator.pairs:
        return ""
    translator = BatchTranslator(subject.model, subject.tokenizers, subject.settings.decoding)
    found = translator.translate([subject.validator.pairs[0].source])
    return found[0][0].problem
