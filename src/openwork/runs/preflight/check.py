"""All parts of the preflight, one after the other; cheap parts that may refuse come first."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from openwork.base.records import RecordWriter
from openwork.interop.exports import unsupported_exports
from openwork.runs.agreement import settings_of_first
from openwork.runs.assembly import TrainingSetup, prepare_training, settle_computing
from openwork.runs.corpus import Report
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.length import MinutesBudget
from openwork.runs.preflight.coverage import Coverage, coverages
from openwork.runs.preflight.resources import (
    DemandingBatch,
    DiskEstimate,
    MemoryEstimate,
    beyond_budget,
    demanding_batches,
    estimate_disk,
    estimate_memory,
)
from openwork.runs.preflight.trials import UpdateTrial, ValidationTrial, try_updates, try_validation
from openwork.training.step import on_trial

CANDIDATES = 3  # weights that a finished training validates, to choose among them; moving averages add two


@dataclass(frozen=True)
class Finish:
    """`passes`: over the training pairs; `validations`: while it trains and at its end."""

    seconds: float
    updates: int
    passes: float
    validations: int


@dataclass(frozen=True)
class Preflight:
    """All findings. `batches`: those that need most, the fullest first; `beyond`: pairs longer than a batch;
    `closed`: toolkits that a bundle cannot be written for; `started`: the time of the preflight.
    """

    batches: tuple[DemandingBatch, ...]
    beyond: int
    memory: MemoryEstimate
    updates: UpdateTrial
    validation: ValidationTrial
    finish: Finish
    disk: DiskEstimate
    coverages: tuple[Coverage, ...]
    closed: Mapping[str, str]
    started: datetime


def preflight(setup: TrainingSetup) -> Preflight | None:
    """Before the first update: OpenworkError for a plan that this machine cannot carry out.

    The training that follows is the same with it and without it, unless batches must be divided for want of memory. Of
    several processes all make updates on trial; the rest is found, and given, by the first.
    """
    batches = demanding_batches(setup)
    memory = estimate_memory(setup, batches[0])
    with on_trial(setup.updater.copy.stored, setup.optimiser):
        updates = try_updates(setup, batches, memory)
        if not setup.processes.is_first:
            return None
        disk = estimate_disk(setup)
        validation = try_validation(setup)
    tokenizers = setup.corpus.tokenizers
    return Preflight(
        tuple(batches),
        beyond_budget(setup),
        memory,
        updates,
        validation,
        _estimate_finish(setup, updates, validation),
        disk,
        tuple(coverages(setup)),
        unsupported_exports(setup.settings.model, (tokenizers.encoder, tokenizers.target)),
        datetime.now(),
    )


def _estimate_finish(setup: TrainingSetup, updates: UpdateTrial, validation: ValidationTrial) -> Finish:
    """For a run that makes all its updates; `training.patience` may end it earlier."""
    training = setup.settings.training
    during = -(-training.steps // training.validate_every)
    choosing = min(during, CANDIDATES if training.average > 1 else 1) + (2 if training.ema else 0)
    seconds = training.steps * updates.usual + (during + choosing) * validation.seconds
    passes = training.steps * training.accumulate / len(setup.stream.epoch(0))
    return Finish(seconds, training.steps, passes, during + choosing)


def preflight_alone(settings: RunSettings, out: Path | None, report: Report) -> Preflight:
    """The preflight without a training. OpenworkError for a plan that this machine cannot carry out.

    Data and vocabulary are prepared in a temporary folder. Nothing is written to `out`; only its free disk counts.
    """
    settings, device = settle_computing(settings, None)
    with tempfile.TemporaryDirectory(prefix="openwork-preflight-") as scratch:
        setup = prepare_training(settings, RunFolder(Path(scratch)), device, report)
        found = preflight(replace(setup, folder=RunFolder(out or Path.cwd())))
        assert found is not None, "this process is the only one"
        return found


def within(budget: MinutesBudget, setup: TrainingSetup, report: Report) -> RunSettings:
    """The settings with as many updates as the budget allows, by the time of some updates on trial.

    The choice is written to the folder of the run: a run that is stopped and continued keeps it.
    """
    report("measuring how long an update takes")
    found, settings = preflight(setup), setup.settings
    if found is not None:
        settings = budget.applied(settings, found.updates.usual, found.validation.seconds)
        setup.folder.rewrite(settings)  # before the record, which says that it is done
        with RecordWriter(setup.folder.records) as records:
            records.write("budget", minutes=budget.minutes, steps=settings.training.steps)
        report(f"{settings.training.steps:,} updates fit into {budget.minutes:g} minutes")
    return settings_of_first(settings, setup.processes)
