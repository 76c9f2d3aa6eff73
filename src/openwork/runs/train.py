"""From a run's settings to a trained bundle: data, tokenizers, model, loop, observers, and the choice at the end."""

import platform
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from openwork import __version__
from openwork.base.files import atomic_write_text
from openwork.base.printing import json_text
from openwork.base.records import RecordWriter
from openwork.data.sources import languages_of
from openwork.runs.assembly import TrainingSetup, prepare_training, settle_computing
from openwork.runs.corpus import Report
from openwork.runs.file.settings import RunSettings
from openwork.runs.finish import TrainingResult, choose_weights, write_chosen
from openwork.runs.folder import NewLength, RunFolder, RunLock
from openwork.runs.languages import with_languages
from openwork.runs.length import MinutesBudget
from openwork.runs.preflight.check import preflight, within
from openwork.runs.preflight.report import preflight_lines
from openwork.runs.preflight.resources import estimate_disk
from openwork.runs.probe import LearningProbe, frequency_entropy
from openwork.training.checkpoint import CheckpointObserver, checkpoints
from openwork.training.computing.choice import prepared_stream
from openwork.training.loop import LoopState, Observer, train
from openwork.training.observers.control import (
    INTERRUPTED,
    InterruptionObserver,
    RecoveryObserver,
    RunLockObserver,
    StoppingObserver,
    ValidationObserver,
    ending_like_ctrl_c,
)
from openwork.training.observers.records import RecordObserver, TensorBoardObserver
from openwork.training.progress import Progress
from openwork.training.symptoms import CoachingObserver


def train_bundle(
    settings: RunSettings,
    out: Path,
    report: Report,
    watchers: Sequence[Observer] = (),
    *,
    length: NewLength | None = None,
    budget: MinutesBudget | None = None,
) -> TrainingResult:
    """Trains, or continues the training in `out`, and writes `out/bundle`.

    `length`: a new length for the run in `out`. `budget`: how many minutes a new run may take.
    """
    folder = RunFolder(out)
    settings = with_languages(settings, folder.read_settings() if checkpoints(folder.checkpoints) else None, report)
    settings, device = settle_computing(settings, folder)
    if settings.training.tensorboard:
        watchers = [*watchers, TensorBoardObserver(folder.tensorboard)]
    with ending_like_ctrl_c(), folder.locked(settings, length) as lock:
        setup = prepare_training(settings, folder, device, report)
        if budget is not None and setup.progress.step == 0:
            settings = within(budget, setup, report)
            setup = prepare_training(settings, folder, device, lambda line: None, setup.corpus)
        return _train_locked(lock, setup, report, watchers)


def _train_locked(lock: RunLock, setup: TrainingSetup, report: Report, watchers: Sequence[Observer]) -> TrainingResult:
    settings, folder, corpus, model = setup.settings, setup.folder, setup.corpus, setup.model
    training, progress, average = settings.training, setup.progress, setup.moving_average
    probe = LearningProbe(model, corpus.tokenizers, corpus.valid, corpus.valid_pairs, languages_of(settings.data)[1])
    writer = RecordWriter(folder.records)
    observers = [
        RunLockObserver(lock.check),
        RecoveryObserver(setup.restore_newest, partial(_keep_batches, setup), report),
        *([average] if average is not None else []),
        ValidationObserver(setup.validator.validate),
        StoppingObserver(),
        CheckpointObserver(folder.checkpoints, model, setup.optimiser, average),
        RecordObserver(writer),
        CoachingObserver(probe.look, frequency_entropy(corpus.train), settings.model.width, report),
        InterruptionObserver(lambda: report("stopping after this update, to save; once more stops at once")),
        *watchers,
    ]
    run = LoopState(training, progress, observers)
    with prepared_stream(setup.updater, setup.stream, run, setup.stream.device, report) as batches:
        _look_ahead(setup, report)
        writer.write("run", **_circumstances(setup))
        train(setup.updater, batches, run)
    if run.stop_reason == INTERRUPTED:
        return TrainingResult(None, progress)
    return write_chosen(
        lock, setup, choose_weights(folder.checkpoints, training, model, setup.validator, progress, report)
    )


def _look_ahead(setup: TrainingSetup, report: Report) -> None:
    """Reports what the run needs; OpenworkError where this machine lacks it."""
    progress = setup.progress
    if progress.step == 0:
        found = preflight(setup)
        for line in preflight_lines(found):
            report(line)
        progress.divisions = found.divisions
    elif progress.step < setup.settings.training.steps:
        estimate_disk(setup)  # nothing else can have changed


def _circumstances(setup: TrainingSetup) -> dict[str, object]:
    """What a run depends on besides its settings: data, versions, machine."""
    corpus = setup.corpus
    return {
        "openwork": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(setup.stream.device),
        "threads": torch.get_num_threads(),
        "train_data": corpus.train.fingerprint,
        "valid_data": corpus.valid.fingerprint,
        "tokenizers": corpus.tokenizers.fingerprint,
    }


def _keep_batches(setup: TrainingSetup, place: tuple[int, int], count: int) -> Path:
    """Writes the pairs of `count` batches from a place on, as text and as ids, one JSON object a line."""
    corpus, progress = setup.corpus, Progress(epoch=place[0], batch=place[1])
    lines = []
    for row in (int(row) for _ in range(count) for row in setup.stream.rows(progress)):
        source, target = (side.tolist() for side in corpus.train.pair(row))
        texts = {"source": corpus.tokenizers.source.decode(source), "target": corpus.tokenizers.target.decode(target)}
        lines.append(json_text({**texts, "source_ids": source, "target_ids": target}))
    atomic_write_text(setup.folder.bad_batch, "".join(f"{line}\n" for line in lines))
    return setup.folder.bad_batch
