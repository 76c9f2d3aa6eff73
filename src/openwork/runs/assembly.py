"""The parts of a training, put together from its settings: data, tokenizers, model, optimiser, batches, validation."""

from dataclasses import dataclass
from functools import partial

import torch

from openwork.base.tasks import task_of
from openwork.cost.cost import weights_of
from openwork.data.batching import BatchPlan
from openwork.data.languages import languages_of
from openwork.machine.available import check_memory, free_memory
from openwork.machine.precision import choose_precision
from openwork.machine.workers import choose_workers
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel, count_weights
from openwork.models.label_model import LabelModel
from openwork.runs.corpus import RunCorpus, Say, prepare_corpus
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.learner import Learner, resume
from openwork.runs.preflight.subject import PreflightContext
from openwork.runs.reach import check_reach
from openwork.runs.tuning.fine_tuning import begin_tuning
from openwork.runs.validation.labels import LabelValidator
from openwork.runs.validation.language_model import LanguageModelValidator
from openwork.runs.validation.masked import MaskedValidator
from openwork.runs.validation.validator import Validator
from openwork.text.pair import TokenizerPair
from openwork.text.word_by_word import beginnings
from openwork.training.batches.batch import BatchStream
from openwork.training.checkpoint import checkpoints
from openwork.training.computing.choice import arrangement, validation_arrangement
from openwork.training.moving_average import MovingAverage
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.step import Updater

# Who looks at held-out pairs, by the model's task; those that are not here tell labels.
VALIDATORS: dict[str, type[Validator]] = {
    "generate": Validator,
    "fill": MaskedValidator,
    "language-model": LanguageModelValidator,
}


def new_model(settings: RunSettings, tokenizers: TokenizerPair) -> SequenceModel:
    """The model with the first weights that the seed gives."""
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    check_memory(weights_of(settings.model, max(sizes)), free_memory())
    torch.manual_seed(settings.training.seed)
    model = build_model(settings.model, *sizes)
    if isinstance(model, LabelModel):
        model.set_word_starts(torch.tensor(beginnings(tokenizers.source)))
    return model


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
class Ready:
    """All parts of a training that is about to begin, or to go on."""

    corpus: RunCorpus
    learner: Learner
    validator: Validator
    stream: BatchStream
    updater: Updater

    def subject(self, settings: RunSettings, out: RunFolder) -> PreflightContext:
        """As the preflight looks at it, for a run that will be written to `out`."""
        pairs, average = self.corpus.train_pairs, self.learner.moving_average
        return PreflightContext(settings, out, self.updater, self.stream, self.validator, pairs, average)


def made_ready_to_train(
    settings: RunSettings, folder: RunFolder, device: torch.device, say: Say
) -> tuple[Ready, Progress]:
    """Data, model and what trains it, and how far the run in the folder has come."""
    return made_ready_with(prepare_corpus(settings, folder, say), settings, folder, device, say)


def made_ready_with(
    corpus: RunCorpus, settings: RunSettings, folder: RunFolder, device: torch.device, say: Say
) -> tuple[Ready, Progress]:
    """The same with data that are there already."""
    learner, progress = _begin(settings, folder, corpus, device, say)
    model, training = learner.model, settings.training
    precision = choose_precision(training.precision, device)
    language = languages_of(settings.data)[1]
    task, looked_at = task_of(settings.model), (corpus.valid, corpus.valid_pairs)
    parts = (model, corpus.tokenizers, *looked_at, precision, language, validation_arrangement(training, model))
    kind = VALIDATORS.get(task) or partial(LabelValidator, task)
    validator = kind(*parts, shown=corpus.examples)
    versions = settings.text.samplings if settings.text.sampling > 0 else 1
    plan = BatchPlan.of(corpus.train, settings.batches, training.seed, versions, corpus.mixture)
    stream = BatchStream(corpus.train, plan, device, arrangement(training, model, precision, device))
    updater = Updater(model, learner.optimiser, make_schedule(training, settings.model.width), training, precision)
    return Ready(corpus, learner, validator, stream, updater), progress


def _begin(
    settings: RunSettings, folder: RunFolder, corpus: RunCorpus, device: torch.device, say: Say
) -> tuple[Learner, Progress]:
    """With fresh weights, with those of a bundle, or where the run in the folder stopped."""
    model = new_model(settings, corpus.tokenizers)
    check_reach(model.maximum_length, corpus.train, corpus.valid, continues=model.continues)
    millions = count_weights(model) / 1e6
    say(f"model: {settings.model.kind}, {millions:.2f} million weights; {settings.training.precision} on {device}")
    begin_tuning(settings, model, corpus.tokenizers, say, resumed=bool(checkpoints(folder.checkpoints)))
    model.to(device)
    optimiser = make_optimiser(model, settings.training)
    moving_average = MovingAverage(model, settings.training.ema) if settings.training.ema else None
    learner = Learner(model, optimiser, moving_average)
    return learner, resume(folder, learner, settings.training, say)
