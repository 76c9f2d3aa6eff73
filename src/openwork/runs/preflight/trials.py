"""Updates and a validation on trial: the batches that need most are computed; no state stays (`training/step.py`)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from openwork.base.errors import OpenworkError
from openwork.decoding.scoring import length_limits
from openwork.inference.translator import BatchTranslator
from openwork.runs.assembly import TrainingSetup
from openwork.runs.preflight.resources import DemandingBatch, MemoryEstimate
from openwork.training.progress import Progress
from openwork.training.step import is_out_of_memory, timed_trial

TIMED = 5  # updates
MOST_BATCHES = 8  # batches of an update that are timed; of more, their time is multiplied
ENOUGH = 2.0  # seconds after which no further update is timed
SCORED = 5  # pairs that are scored on trial, to find out whether the metric supports the language


@dataclass(frozen=True)
class UpdateTrial:
    """Seconds of each demanding batch (`most`) and of a usual update; `divisions`: as it ended.

    `peak`: bytes that a GPU had allocated at the fullest moment; None on a CPU.
    """

    most: tuple[float, ...]
    usual: float
    divisions: int
    peak: int | None = None


@dataclass(frozen=True)
class ValidationTrial:
    """`sentences`: how many of the longest were translated together; `seconds`: that a whole validation may take.

    `problem`: what is wrong with the search of [decoding], which is first used when the bundle is written.
    """

    sentences: int
    seconds: float
    problem: str = ""


class _EnoughError(Exception):
    """The first batch is translated; the argument counts its sentences."""


def try_updates(setup: TrainingSetup, batches: Sequence[DemandingBatch], estimate: MemoryEstimate) -> UpdateTrial:
    """OpenworkError where memory is not enough, however a batch is divided."""
    updater, stream, device = setup.updater, setup.stream, setup.stream.device
    updater.divisions = max(setup.processes.gather(estimate.divisions))
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    try:
        assembled = (stream.batch(batch.rows) for batch in batches)
        most = tuple(timed_trial(updater, [batch]) for batch in assembled)
        usual = _usual(setup)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise OpenworkError(
            "there is not enough memory for what the optimiser keeps of each weight",
            hint='take a smaller model, or training.optimiser = "adafactor", which keeps next to nothing',
            code="E024",
        ) from error
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return UpdateTrial(most, usual, updater.divisions, peak)


def _usual(setup: TrainingSetup) -> float:
    """Mean seconds of an update of the first batches."""
    place, seconds, started = Progress(), [], time.perf_counter()
    accumulate = setup.settings.training.accumulate
    count = min(accumulate, MOST_BATCHES)
    while setup.processes.from_first(len(seconds) < TIMED and (not seconds or time.perf_counter() - started < ENOUGH)):
        start = time.perf_counter()
        batches = [setup.stream.next(place) for _ in range(count)]
        ready = time.perf_counter() - start
        seconds.append(ready + timed_trial(setup.updater, batches))
    return sum(seconds) / len(seconds) * accumulate / count


def try_validation(setup: TrainingSetup) -> ValidationTrial:
    """The longest validation sentences, computed and translated as each validation does it; one is also searched.

    OpenworkError where memory is not enough for it.
    """
    store, pairs, problem = setup.corpus.valid, setup.validator.pairs, ""
    try:
        seconds, sentences = _loss_seconds(setup), 0
        if pairs and setup.corpus.tokenizers.encoder.numbers is not None:
            sentences, labelling = _label_first(setup)
            seconds += labelling
        elif pairs:
            sentences, translating = _translate_longest(setup)
            seconds += translating
            search = BatchTranslator(setup.model, setup.corpus.tokenizers, setup.settings.decoding)
            problem = search.translate([pairs[0].source])[0][0].problem
        return ValidationTrial(sentences, seconds, problem)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        longest = int(max(store.source.lengths.max(), store.target.lengths.max()))
        raise OpenworkError(
            "there is not enough memory to validate with the longest validation sentences",
            why=f"the longest has {longest:,} pieces",
            hint="leave the longest out of the validation pairs, or take a smaller model",
            code="E025",
        ) from error


def _loss_seconds(setup: TrainingSetup) -> float:
    """Of the loss of all validation pairs, from that of the batch with the longest."""
    validator, store = setup.validator, setup.corpus.valid
    longer = np.maximum(store.source.lengths, store.target.lengths) + 1
    rows = max(validator.plan, key=lambda rows: (int(longer[rows].max()), len(rows)))
    start = time.perf_counter()
    validator.loss([rows])
    return (time.perf_counter() - start) * float(longer.sum()) / (len(rows) * int(longer[rows].max()))


def _label_first(setup: TrainingSetup) -> tuple[int, float]:
    """How many sources that are no text were labelled together, and the seconds that all may take."""
    validator, few = setup.validator, setup.validator.pairs[: setup.corpus.tokenizers.encoder.at_once]
    start = time.perf_counter()
    if validator.scoring is not None:
        validator.scoring.hypotheses([pair.source for pair in few])
    return len(few), (time.perf_counter() - start) * len(validator.pairs) / len(few)


def _translate_longest(setup: TrainingSetup) -> tuple[int, float]:
    """How many were translated together, and the seconds that all may take.

    An untrained model does not end its sentences: each is searched up to its limit. Time is counted for targets as
    long as the references, since it is proportional to rows times steps.
    """
    validator, pairs, store = setup.validator, setup.validator.pairs, setup.corpus.valid
    start, count = time.perf_counter(), 0

    def stop(count: int) -> None:
        raise _EnoughError(count)

    try:
        validator.translator.translate([pair.source for pair in pairs], advanced=stop)
    except _EnoughError as enough:
        count = enough.args[0]
    seconds = time.perf_counter() - start
    if validator.scoring is not None:
        validator.scoring.scores(pairs[:SCORED], [pair.target for pair in pairs[:SCORED]])
    if count == 0:  # no pair has a visible character
        return 0, 0.0
    longest = torch.tensor([int(store.source.lengths[: len(pairs)].max()) + 1])
    steps = int(length_limits(longest, validator.translator.decoding))
    wanted = int(store.target.lengths[: len(pairs)].sum()) + len(pairs)
    side_by_side = min(max(1.0, len(pairs) / count), validator.translator.engine.cores)
    return count, seconds * wanted / (count * steps) / side_by_side
