"""The parts of a training, put together from its settings: data, tokenizers, model, optimiser, batches, validation."""

from dataclasses import dataclass

import torch

from openwork.base.tasks import task_of
from openwork.cost.cost import weights_of
from openwork.data.batching import BatchPlan
from openwork.data.languages import languages_of
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.machine.available import check_memory, free_memory
from openwork.machine.device import choose_device, choose_products
from openwork.machine.precision import choose_precision
from openwork.machine.workers import choose_workers
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel, count_weights
from openwork.models.label_model import LabelModel
from openwork.runs.corpus import RunCorpus, Say, prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.preflight.subject import PreflightContext
from openwork.runs.reach import check_reach
from openwork.runs.train_state import TrainState, resume
from openwork.runs.tuning.fine_tuning import begin_tuning, check_fine_tuning
from openwork.runs.validation.scoring import scoring_of
from openwork.runs.validation.validator import Validator
from openwork.text.pair import TokenizerPair
from openwork.text.word_level import word_starts
from openwork.training.batches.batch import BatchStream
from openwork.training.checkpoint import checkpoints
from openwork.training.computing.choice import arrangement, validation_arrangement
from openwork.training.moving_average import MovingAverage
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.step import Updater


def new_model(settings: RunSettings, tokenizers: TokenizerPair) -> SequenceModel:
    """The model with the first weights that the seed gives."""
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    check_memory(weights_of(settings.model, max(sizes)), free_memory())
    torch.manual_seed(settings.training.seed)
    model = build_model(settings.model, *sizes)
    if isinstance(model, LabelModel):
        model.set_word_starts(torch.tensor(word_starts(tokenizers.source)))
    return model


def settle_computing(settings: RunSettings, folder: RunFolder | None) -> tuple[RunSettings, torch.device]:
    """The settings with precision and workers decided for this machine, and its device, which computes so from now on.

    ConfigError for a fine-tuning that cannot be.
    """
    device = choose_device()
    settings = resolve_computing(settings, folder, device)
    choose_products(settings.training.precision, device)
    check_fine_tuning(settings)
    return settings, device


def resolve_computing(settings: RunSettings, folder: RunFolder | None, device: torch.device) -> RunSettings:
    """The same settings with precision and workers decided; a run that goes on keeps what it decided at first."""
    before = folder.read_settings() if folder is not None else None
    known = before.training if before is not None else settings.training
    wanted = settings.training
    precision = choose_precision(known.precision if wanted.precision == "auto" else wanted.precision, device)
    chosen = choose_workers(wanted.workers or known.workers, settings.batches.tokens, device)
    workers = 1 if settings.needs_whole_batches else chosen
    training = wanted.model_copy(update={"precision": precision, "workers": workers})
    return settings.model_copy(update={"training": training})


@dataclass(frozen=True)
class TrainingSetup:
    """All parts of a training that is about to begin, or to go on."""

    corpus: RunCorpus
    state: TrainState
    validator: Validator
    stream: BatchStream
    updater: Updater

    def subject(self, settings: RunSettings, out: RunFolder) -> PreflightContext:
        """As the preflight looks at it, for a run that will be written to `out`."""
        pairs, average = self.corpus.train_pairs, self.state.moving_average
        return PreflightContext(settings, out, self.updater, self.stream, self.validator, pairs, average)


def prepare_training(
    settings: RunSettings, folder: RunFolder, device: torch.device, say: Say
) -> tuple[TrainingSetup, Progress]:
    """Data, model and what trains it, and how far the run in the folder has come."""
    return prepare_with(prepare_corpus(settings, folder, say), settings, folder, device, say)


def prepare_with(
    corpus: RunCorpus, settings: RunSettings, folder: RunFolder, device: torch.device, say: Say
) -> tuple[TrainingSetup, Progress]:
    """The same with data that are there already."""
    state, progress = _begin(settings, folder, corpus, device, say)
    model, training = state.model, settings.training
    precision = choose_precision(training.precision, device)
    translator = BatchTranslator(model, corpus.tokenizers, DecodingSettings(beam=1), precision=precision)
    same, language = validation_arrangement(training, model), languages_of(settings.data)[1]
    scoring = scoring_of(task_of(settings.model), model, translator, corpus.valid, same, precision, language)
    validator = Validator(
        model, translator, corpus.valid, corpus.valid_pairs, precision, scoring, same, shown=corpus.examples
    )
    versions = settings.text.samplings if settings.text.sampling > 0 else 1
    plan = BatchPlan.of(corpus.train, settings.batches, training.seed, versions, corpus.mixture)
    stream = BatchStream(corpus.train, plan, device, arrangement(training, model, precision, device))
    updater = Updater(model, state.optimiser, make_schedule(training, settings.model.width), training, precision)
    return TrainingSetup(corpus, state, validator, stream, updater), progress


def _begin(
    settings: RunSettings, folder: RunFolder, corpus: RunCorpus, device: torch.device, say: Say
) -> tuple[TrainState, Progress]:
    """With fresh weights, with those of a bundle, or where the run in the folder stopped."""
    model = new_model(settings, corpus.tokenizers)
    check_reach(model.maximum_length, corpus.train, corpus.valid, continues=model.continues)
    millions = count_weights(model) / 1e6
    say(f"model: {settings.model.kind}, {millions:.2f} million weights; {settings.training.precision} on {device}")
    begin_tuning(settings, model, corpus.tokenizers, say, resumed=bool(checkpoints(folder.checkpoints)))
    model.to(device)
    optimiser = make_optimiser(model, settings.training)
    moving_average = MovingAverage(model, settings.training.ema) if settings.training.ema else None
    state = TrainState(model, optimiser, moving_average)
    return state, resume(folder, state, settings.training, say)
