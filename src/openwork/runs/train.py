"""From a run's settings to a trained bundle: data, tokenizers, model, loop, observers, and the choice at the end."""

import platform
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import torch

from openwork import __version__
from openwork.base.files import atomic_write_text
from openwork.base.printing import json_text
from openwork.base.records import RecordWriter
from openwork.data.sources import languages_of
from openwork.machine.processes import ALONE, Processes
from openwork.machine.workers import using_threads
from openwork.runs.agreement import check_alike
from openwork.runs.assembly import TrainingSetup, prepare_training, settle_computing
from openwork.runs.corpus import Report, RunCorpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.finish import TrainingResult, choose_weights, write_chosen
from openwork.runs.folder import NewLength, RunFolder, RunLock
from openwork.runs.languages import with_languages
from openwork.runs.length import MinutesBudget
from openwork.runs.preflight.check import preflight, within
from openwork.runs.preflight.report import preflight_lines
from openwork.runs.preflight.resources import estimate_disk
from openwork.runs.probe import LearningProbe, frequency_entropy
from openwork.text.tokenizer import Tokenizer
from openwork.training.checkpoint import checkpoints, write_divided, write_whole
from openwork.training.computing.choice import prepared_stream
from openwork.training.loop import INTERRUPTED, LoopState, Observer, train
from openwork.training.observers.control import (
    InterruptionObserver,
    RecoveryObserver,
    RunLockObserver,
    StoppingObserver,
    ValidationObserver,
    ending_like_ctrl_c,
)
from openwork.training.observers.records import RecordObserver, TensorBoardObserver
from openwork.training.observers.saving import CheckpointObserver
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
    processes: Processes = ALONE,
    corpus: RunCorpus | None = None,
) -> TrainingResult:
    """Trains, or continues the training in `out`, and writes `out/bundle`.

    `length`: a new length for the run in `out`. `budget`: how many minutes a new run may take. Of several `processes`
    each calls this with the same arguments, and the first one writes. `corpus`: the data, prepared elsewhere.
    """
    folder = RunFolder(out)
    with ending_like_ctrl_c(), processes.together():
        settings = with_languages(settings, folder.read_settings() if checkpoints(folder.checkpoints) else None, report)
        check_alike(settings, processes)
        settings, device = settle_computing(settings, folder, processes)
        with folder.locked(settings, length) if processes.is_first else nullcontext() as lock:
            threads = settings.training.threads
            if threads is not None and threads < torch.get_num_threads():
                count = torch.get_num_threads()
                report(f"threads: {threads} of {count}; training.threads sets another number for a new run")
            with using_threads(threads):
                setup = prepare_training(settings, folder, device, report, corpus, processes)
                if budget is not None and setup.progress.step == 0:
                    settings = within(budget, setup, report)
                    setup = prepare_training(settings, folder, device, lambda line: None, setup.corpus, processes)
                return _train_prepared(lock, setup, report, watchers)


def _train_prepared(
    lock: RunLock | None, setup: TrainingSetup, report: Report, watchers: Sequence[Observer]
) -> TrainingResult:
    """`lock`: on the folder, which the first process writes; None on the others."""
    folder, training, progress, processes = setup.folder, setup.settings.training, setup.progress, setup.processes
    writer = RecordWriter(folder.records) if lock is not None else None
    savers = _savers(setup)

    def restore() -> int | None:
        for saver in savers:
            saver.settle(run)
        processes.total(0)  # no process reads before all is written
        return setup.restore_newest()

    observers = [
        *([RunLockObserver(lock.check)] if lock is not None else []),
        RecoveryObserver(restore, partial(_keep_batches, setup), report),
        *([setup.moving_average] if setup.moving_average is not None else []),
        ValidationObserver(setup.validate),
        StoppingObserver(),
        *savers,
        *(_writing_observers(setup, writer, report, watchers) if writer is not None else []),
        InterruptionObserver(lambda: report("stopping after this update, to save; once more stops at once")),
    ]
    run = LoopState(training, progress, observers, processes=processes)
    with prepared_stream(setup.updater, setup.stream, run, setup.stream.device, report) as batches:
        look_ahead(setup, report)
        if writer is not None:
            writer.write("run", **_circumstances(setup))
        train(setup.updater, batches, run)
    if processes.total(run.stop_reason == INTERRUPTED)[0]:
        return TrainingResult(None, progress)
    chosen = choose_weights(folder.checkpoints, training, setup.model, setup.validator, progress, report)
    return write_chosen(lock, setup, chosen) if lock is not None else TrainingResult(folder.bundle, progress, chosen)


def _savers(setup: TrainingSetup) -> list[CheckpointObserver]:
    """The first process saves what all have in whole, each process its part of what is divided."""
    processes, copy = setup.processes, setup.updater.copy
    if not (copy.divides or processes.is_first):
        return []
    write = partial(write_divided, processes=processes.apart()) if copy.divides else write_whole
    parts = copy.stored, setup.optimiser, setup.moving_average
    beside = processes.count > 1 or setup.stream.device.type == "cuda"
    saver = CheckpointObserver(setup.folder.checkpoints, *parts, write, beside, tidies=processes.is_first)
    return [saver]


def _writing_observers(
    setup: TrainingSetup, writer: RecordWriter, report: Report, watchers: Sequence[Observer]
) -> list[Observer]:
    """What only the first process does: records, advice, and what is shown."""
    settings, folder, corpus, model = setup.settings, setup.folder, setup.corpus, setup.model
    probe = LearningProbe(model, corpus.tokenizers, corpus.valid, corpus.valid_pairs, languages_of(settings.data)[1])
    tensorboard = [TensorBoardObserver(folder.tensorboard)] if settings.training.tensorboard else []
    return [
        RecordObserver(writer),
        CoachingObserver(probe.look, frequency_entropy(corpus.train), settings.model.width, report),
        *watchers,
        *tensorboard,
    ]


def look_ahead(setup: TrainingSetup, report: Report) -> None:
    """Reports what the run needs; OpenworkError where this machine lacks it."""
    progress = setup.progress
    if progress.step == 0:
        found = preflight(setup)
        for line in preflight_lines(found) if found is not None else ():
            report(line)
        progress.divisions = setup.updater.divisions
    elif progress.step < setup.settings.training.steps and setup.processes.is_first:
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
        "processes": setup.processes.count,
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
        encoder, wanted = corpus.tokenizers.encoder, corpus.tokenizers.target.decode(target)
        read = encoder.decode(source) if isinstance(encoder, Tokenizer) else ""  # of pictures the numbers alone
        lines.append(json_text({"source": read, "target": wanted, "source_ids": source, "target_ids": target}))
    atomic_write_text(setup.folder.bad_batch, "".join(f"{line}\n" for line in lines))
    return setup.folder.bad_batch
