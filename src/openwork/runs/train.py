"""From a run's settings to a trained bundle: data, tokenizers, model, loop, observers, and the choice at the end."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from openwork import __version__
from openwork.base.files import atomic_write_text
from openwork.base.printing import json_text
from openwork.base.records import RecordWriter
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.data.languages import languages_of
from openwork.inference.golden import make_golden
from openwork.runs.assembly import TrainingSetup, prepare_training, prepare_with, settle_computing
from openwork.runs.card import write_card
from openwork.runs.choice import choose_weights
from openwork.runs.corpus import RunCorpus, Say
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import NewLength, RunFolder, RunLock, settings_of_run
from openwork.runs.languages import with_languages
from openwork.runs.length import MinutesBudget, history_of
from openwork.runs.preflight.budget import within
from openwork.runs.preflight.check import preflight, preflight_resumed
from openwork.runs.preflight.report import preflight_lines
from openwork.runs.preflight.subject import PreflightContext
from openwork.runs.train_state import go_back
from openwork.runs.validation.probe import LearningProbe, frequency_entropy
from openwork.training.batches.batch import BatchStream
from openwork.training.checkpoint import checkpoints
from openwork.training.computing.choice import prepared_stream
from openwork.training.loop import train
from openwork.training.low_rank import merge
from openwork.training.moments import LoopState, Observer
from openwork.training.observers.averaging import AveragingObserver
from openwork.training.observers.checkpointing import CheckpointObserver
from openwork.training.observers.coaching import CoachingObserver
from openwork.training.observers.interruption import INTERRUPTED, InterruptionObserver, ending_like_ctrl_c
from openwork.training.observers.recording import RecordObserver
from openwork.training.observers.recovery import RecoveryObserver
from openwork.training.observers.run_lock import RunLockObserver
from openwork.training.observers.stopping import StoppingObserver
from openwork.training.observers.tensorboard import TensorBoardObserver
from openwork.training.observers.validation import ValidationObserver
from openwork.training.progress import Progress, Validation


@dataclass(frozen=True)
class TrainingResult:
    """What a training came to. `bundle` is None when it was interrupted."""

    bundle: Path | None
    progress: Progress
    chosen: Validation | None = None


def train_bundle(
    settings: RunSettings,
    out: Path,
    say: Say,
    watchers: Sequence[Observer] = (),
    *,
    length: NewLength | None = None,
    budget: MinutesBudget | None = None,
) -> TrainingResult:
    """Trains, or continues the training in `out`, and writes `out/bundle`.

    `length`: the run in `out` is to have another one. `budget`: a new run is to take so many minutes.
    """
    folder = RunFolder(out)
    settings = with_languages(settings, folder.read_settings() if checkpoints(folder.checkpoints) else None, say)
    settings, device = settle_computing(settings, folder)
    if settings.training.tensorboard:
        watchers = [*watchers, TensorBoardObserver(folder.tensorboard)]
    with ending_like_ctrl_c(), folder.locked(settings, length) as lock:
        setup, progress = prepare_training(settings, folder, device, say)
        if budget is not None and progress.step == 0:
            settings = within(budget, setup.subject(settings, folder), say)
            setup, progress = prepare_with(setup.corpus, settings, folder, device, lambda line: None)
        return _train_locked(settings, lock, setup, progress, device, say, watchers)


def _train_locked(
    settings: RunSettings,
    lock: RunLock,
    setup: TrainingSetup,
    progress: Progress,
    device: torch.device,
    say: Say,
    watchers: Sequence[Observer],
) -> TrainingResult:
    folder = lock.folder
    corpus, state, stream, validator = setup.corpus, setup.state, setup.stream, setup.validator
    model, training = state.model, settings.training
    probe = LearningProbe(model, corpus.tokenizers, corpus.valid, corpus.valid_pairs, languages_of(settings.data)[1])
    writer = RecordWriter(folder.records)
    observers = [
        RunLockObserver(lock.check),
        RecoveryObserver(partial(go_back, folder, state), partial(_keep_batches, folder, corpus, stream), say),
        *([AveragingObserver(state.moving_average)] if state.moving_average is not None else []),
        ValidationObserver(validator.validate),
        StoppingObserver(),
        CheckpointObserver(folder.checkpoints, model, state.optimiser, state.moving_average),
        RecordObserver(writer),
        CoachingObserver(probe.look, frequency_entropy(corpus.train), settings.model.width, say),
        InterruptionObserver(lambda: say("stopping after this update, to save; once more stops at once")),
        *watchers,
    ]
    run = LoopState(training, progress, observers)
    with prepared_stream(setup.updater, stream, run, device, say) as batches:
        _look_ahead(setup.subject(settings, folder), progress, say)
        writer.write("run", **_circumstances(corpus, device))
        train(setup.updater, batches, run)
    if run.stop_reason == INTERRUPTED:
        return TrainingResult(None, progress)
    chosen = choose_weights(folder.checkpoints, training, model, validator, progress, say)
    return TrainingResult(write_chosen(settings, lock, setup, chosen, progress), progress, chosen)


def _look_ahead(subject: PreflightContext, progress: Progress, say: Say) -> None:
    """Says what the run will need; OpenworkError where that is not here."""
    if progress.step > 0:
        if progress.step < subject.settings.training.steps:
            preflight_resumed(subject)
        return
    found = preflight(subject)
    for line in preflight_lines(found):
        say(line)
    progress.divisions = found.divisions


def _circumstances(corpus: RunCorpus, device: torch.device) -> dict[str, object]:
    """What a run depends on besides its settings: data, versions, machine."""
    return {
        "openwork": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": str(device),
        "threads": torch.get_num_threads(),
        "train_data": corpus.train.fingerprint,
        "valid_data": corpus.valid.fingerprint,
        "tokenizers": corpus.tokenizers.fingerprint,
    }


def _keep_batches(
    folder: RunFolder, corpus: RunCorpus, stream: BatchStream, place: tuple[int, int], count: int
) -> Path:
    """Writes the pairs of `count` batches from a place on, as text and as ids, one JSON object a line."""
    progress = Progress(epoch=place[0], batch=place[1])
    lines = []
    for row in (int(row) for _ in range(count) for row in stream.rows(progress)):
        source, target = (side.tolist() for side in corpus.train.pair(row))
        texts = {"source": corpus.tokenizers.source.decode(source), "target": corpus.tokenizers.target.decode(target)}
        lines.append(json_text({**texts, "source_ids": source, "target_ids": target}))
    atomic_write_text(folder.bad_batch, "".join(f"{line}\n" for line in lines))
    return folder.bad_batch


def write_chosen(
    settings: RunSettings, lock: RunLock, setup: TrainingSetup, chosen: Validation, progress: Progress
) -> Path:
    """Writes the bundle of a run whose model has the weights that were chosen."""
    folder, corpus, model = lock.folder, setup.corpus, setup.state.model
    merge(model)
    card = write_card(settings, corpus.report, chosen, progress, history_of(folder))
    bundle = Bundle(settings_of_run(settings), corpus.tokenizers, model.eval(), card=card)
    bundle = make_golden(bundle, [pair.source for pair in corpus.examples])
    lock.check()
    write_bundle(folder.bundle, bundle)
    folder.extended.unlink(missing_ok=True)
    return folder.bundle
