"""The parts of a training, put together from its settings: data, tokenizers, model, optimiser, batches, validation."""

import math
from dataclasses import dataclass

import numpy as np
import torch

from openwork.base.errors import ConfigError
from openwork.base.tasks import LABELLING, task_of
from openwork.cost.cost import weights_of
from openwork.data.batching import BatchPlan
from openwork.data.soft_targets import SoftTargets
from openwork.data.sources import languages_of
from openwork.data.store import TokenStore
from openwork.decoding.settings import DecodingSettings
from openwork.inference.labeller import Labeller
from openwork.inference.translator import BatchTranslator
from openwork.machine.available import check_memory, free_memory
from openwork.machine.device import choose_device, choose_products
from openwork.machine.precision import PrecisionName, choose_precision
from openwork.machine.processes import ALONE, Processes
from openwork.machine.workers import choose_threads, choose_workers, threads_for, using_threads
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel, count_weights
from openwork.models.label_model import LabelModel
from openwork.runs.agreement import shared_corpus
from openwork.runs.corpus import Report, RunCorpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.teachers import teacher_targets
from openwork.runs.tuning import begin_tuning, check_fine_tuning, rounding_of
from openwork.runs.validation import LabelScoring, MaskedScoring, Scoring, TranslationScoring, Validator
from openwork.text.forms import word_starts
from openwork.text.pair import TokenizerPair
from openwork.text.tokenizer import Tokenizer
from openwork.training.averaging import MovingAverage
from openwork.training.batches.batch import BatchStream, WithTeacher
from openwork.training.checkpoint import checkpoints, resume_latest
from openwork.training.computing.choice import arrangement, validation_arrangement, working_copy
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.kept_zeros import KeptZeros
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress, Validation
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater


def new_model(settings: RunSettings, tokenizers: TokenizerPair) -> SequenceModel:
    """A new model, initialised by the seed."""
    sizes = tokenizers.sizes
    check_memory(weights_of(settings.model, max(sizes)), free_memory())
    torch.manual_seed(settings.training.seed)
    model = build_model(settings.model, *sizes)
    if isinstance(model, LabelModel) and isinstance(tokenizers.encoder, Tokenizer):
        model.set_word_starts(torch.tensor(word_starts(tokenizers.source)))
    return model


def settle_computing(
    settings: RunSettings, folder: RunFolder | None, processes: Processes = ALONE
) -> tuple[RunSettings, torch.device]:
    """The settings, resolved for this machine, and its device. ConfigError for an impossible fine-tuning."""
    device = choose_device()
    settings = resolve_computing(settings, folder, device, processes)
    choose_products(settings.training.precision, device)
    check_fine_tuning(settings)
    return settings, device


def resolve_computing(
    settings: RunSettings, folder: RunFolder | None, device: torch.device, processes: Processes = ALONE
) -> RunSettings:
    """The settings with threads, workers and precision decided, for all processes.

    A continued run keeps its first decision.
    """
    before = folder.read_settings() if folder is not None else None
    known = before.training if before is not None else settings.training
    wanted = settings.training
    threads = wanted.threads or known.threads
    if before is None and threads is None and wanted.workers is None:
        threads = threads_for(settings.batches.tokens, settings.model.width, device, processes.count)
    with using_threads(threads):
        chosen = choose_workers(wanted.workers or known.workers, settings.batches.tokens, device, processes.count)
    workers = 1 if settings.needs_whole_batches else chosen
    if before is None:
        threads = choose_threads(threads, device, workers, processes.count)
    precision = choose_precision(known.precision if wanted.precision == "auto" else wanted.precision, device)
    decided = {"precision": precision, "workers": workers, "threads": threads}
    training = wanted.model_copy(update=processes.from_first(decided))
    return settings.model_copy(update={"training": training})


@dataclass(frozen=True)
class TrainingSetup:
    """All parts of a training, and how far the run in its folder has come."""

    settings: RunSettings
    folder: RunFolder
    corpus: RunCorpus
    model: SequenceModel
    optimiser: torch.optim.Optimizer
    moving_average: MovingAverage | None
    progress: Progress
    validator: Validator
    stream: BatchStream
    updater: Updater
    processes: Processes = ALONE

    def validate(self, step: int) -> Validation:
        """The figures of the weights as they are now."""
        self.updater.copy.publish()
        return self.validator.validate(step)

    def restore_newest(self) -> int | None:
        """Restores the newest checkpoint and returns its update; None if there is no checkpoint."""
        parts = self.updater.copy.stored, self.optimiser, self.moving_average
        found = resume_latest(self.folder.checkpoints, *parts, in_trouble=False, processes=self.processes)
        self.updater.copy.publish()
        return None if found is None else found.progress.step


def prepare_training(
    settings: RunSettings,
    folder: RunFolder,
    device: torch.device,
    report: Report,
    corpus: RunCorpus | None = None,
    processes: Processes = ALONE,
) -> TrainingSetup:
    """Data (unless they are given), model, and what trains it: fresh, from a bundle, or from the newest checkpoint."""
    corpus = corpus or shared_corpus(settings, folder, report, processes)
    training, precision = settings.training, choose_precision(settings.training.precision, device)
    model = new_model(settings, corpus.tokenizers)
    check_maximum_length(model.maximum_length, corpus.train, corpus.valid, continues=model.continues)
    millions = count_weights(model) / 1e6
    report(f"model: {settings.model.kind}, {millions:.2f} million weights; {settings.training.precision} on {device}")
    begin_tuning(settings, model, corpus.tokenizers, report, resumed=bool(checkpoints(folder.checkpoints)))
    model.to(device)
    kept_zeros = KeptZeros(model, of_matrices=settings.fine_tuning.keep_zeros)
    if settings.fine_tuning.keep_zeros:
        report(f"zeros that stay: {kept_zeros.count / 1e6:.2f} million weights")
    copy = working_copy(model, training, precision, processes, rounding_of(settings.fine_tuning))
    optimiser = make_optimiser(copy.stored, training, copy.moved(), precision)
    moving_average = MovingAverage(copy.stored, training.ema) if training.ema else None
    progress = _resume(folder, copy, optimiser, moving_average, training, report)
    validator = make_validator(settings, corpus, model, precision, processes)
    plan = BatchPlan.of(corpus.train, settings.batches, training.seed, settings.versions, corpus.mixture)
    _check_shares(plan, processes)
    arrange = arrangement(training, settings.batches.tokens, model, precision, device)
    if (soft := _teacher_targets(settings, folder, corpus, device, report, processes)) is not None:
        arrange = WithTeacher(arrange, soft)
    stream = BatchStream(corpus.train, plan, device, arrange, processes)
    schedule = make_schedule(training, settings.model.width)
    updater = Updater(model, optimiser, schedule, training, precision, copy, settings.distillation.share, kept_zeros)
    return TrainingSetup(
        settings, folder, corpus, model, optimiser, moving_average, progress, validator, stream, updater, processes
    )


def _teacher_targets(
    settings: RunSettings,
    folder: RunFolder,
    corpus: RunCorpus,
    device: torch.device,
    report: Report,
    processes: Processes,
) -> SoftTargets | None:
    """Those of the training pairs; the first process computes them, the others read its files."""
    if not settings.distillation.teachers:
        return None
    precision = choose_precision(settings.training.precision, device)
    asked = settings.distillation, corpus.train, folder.stores, corpus.tokenizers, precision, device
    first = teacher_targets(*asked, report) if processes.is_first else None
    processes.done("teacher")
    return first or teacher_targets(*asked, lambda line: None)


def make_validator(
    settings: RunSettings,
    corpus: RunCorpus,
    model: SequenceModel,
    precision: PrecisionName,
    processes: Processes = ALONE,
) -> Validator:
    """What scores the model on the validation pairs."""
    translator = BatchTranslator(model, corpus.tokenizers, DecodingSettings(beam=1), precision=precision)
    same, task = validation_arrangement(settings.training, model), task_of(settings.model)
    scoring: Scoring | None = TranslationScoring(translator, languages_of(settings.data)[1], processes)
    if task == "language-model":  # which has a loss alone
        scoring = None
    elif task == "fill":
        scoring = MaskedScoring(model, corpus.tokenizers.source, corpus.valid, same, precision)
    elif task in LABELLING:
        scoring = LabelScoring(Labeller(model, corpus.tokenizers, task, precision=precision), processes)
    return Validator(
        model, translator, corpus.valid, corpus.valid_pairs, precision, scoring, same,
        shown=corpus.examples, processes=processes, rounding=rounding_of(settings.fine_tuning),
    )  # fmt: skip


def _check_shares(plan: BatchPlan, processes: Processes) -> None:
    """ConfigError where most batches have fewer sentences than there are processes."""
    sentences = len(plan.source_lengths) / plan.versions / len(plan.epoch(0)) if processes.count > 1 else math.inf
    if sentences < processes.count:
        raise ConfigError(
            f"a batch of {sentences:.1f} sentences on average cannot be shared by {processes.count} processes",
            why="some of them would have nothing to compute",
            hint="set batches.tokens higher (it is that of all processes together), or train on fewer",
            code="C112",
        )


def _resume(
    folder: RunFolder,
    copy: WorkingCopy,
    optimiser: torch.optim.Optimizer,
    moving_average: MovingAverage | None,
    training: TrainingSettings,
    report: Report,
) -> Progress:
    resumed = resume_latest(folder.checkpoints, copy.stored, optimiser, moving_average, processes=copy.processes)
    if resumed is None:
        return Progress()
    copy.publish()
    for error in resumed.damaged:
        report(f"passed over a damaged checkpoint: {error.what}")
    progress = resumed.progress
    report(f"continuing after update {progress.step:,} from {resumed.path}")
    every, last = training.validate_every, training.steps
    # A longer run does not make the last validation of the shorter one.
    progress.validations = [one for one in progress.validations if one.step % every == 0 or one.step == last]
    return progress


def check_maximum_length(longest: int | None, train: TokenStore, valid: TokenStore, *, continues: bool = False) -> None:
    """ConfigError that counts the pairs with a sentence of more than `longest` tokens, where learned positions end.

    `continues`: source and target are one sentence, with one end symbol.
    """
    if longest is None:
        return
    for kind, store in (("training", train), ("validation", valid)):
        ends = store.source.end_symbols, store.target.end_symbols
        sides = store.source.lengths + ends[0], store.target.lengths + ends[1]
        lengths = sides[0] + sides[1] - 1 if continues else np.maximum(*sides)  # which are one sentence with one end
        lengths = lengths if store.source.form is None else sides[1]  # the encoder has bounded numbers
        beyond, most = int((lengths > longest).sum()), int(lengths.max())
        if beyond:
            raise ConfigError(
                f"{beyond:,} {kind} pairs have a sentence of more than {longest:,} tokens, where learned positions end",
                why=f"the longest has {most:,} tokens, the end symbol counted",
                hint=f"set model.maximum_length to {most} or more, or drop such pairs with filters.maximum_characters",
                code="C047",
            )
