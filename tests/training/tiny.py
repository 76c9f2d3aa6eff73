"""A training in miniature: forty short pairs, a model of a few hundred weights, with dropout."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.store import TokenStore, write_store
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import EncoderSettings, TransformerSettings
from openwork.training.averaging import MovingAverage
from openwork.training.batches.batch import BatchStream
from openwork.training.checkpoint import path_of, tensors_of, write_whole
from openwork.training.computing.choice import arrangement
from openwork.training.loop import LoopState, Observer, train
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress, Validation
from openwork.training.schedules import make_schedule
from openwork.training.settings import TrainingSettings
from openwork.training.step import StepReport, Updater

CPU = torch.device("cpu")
VOCABULARY = 12
SETTINGS = TrainingSettings(
    steps=12, warmup=4, schedule="inverse-square-root", learning_rate=0.01, precision="float32", metric="loss",
    validate_every=4, log_every=2, average=2,
)  # fmt: skip
MODEL = TransformerSettings(width=8, heads=2, feedforward_width=12, encoder_layers=1, decoder_layers=1, dropout=0.2)
BATCH_NORMALISED = MODEL.model_copy(update={"normalisation": "batch"})
FILLER = EncoderSettings(task="fill", width=8, heads=2, feedforward_width=12, layers=1, dropout=0.2)
RECURRENT = RecurrentSettings(width=6, encoder_layers=2, decoder_layers=2, dropout=0.2, tying="three-way")


def save_checkpoint(
    folder: Path,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    moving_average: MovingAverage | None = None,
) -> Path:
    """Writes `folder/step-N`, as the observer of checkpoints does."""
    path = path_of(folder, progress.step)
    write_whole(path, tensors_of(model, optimiser, moving_average), progress.to_json())
    return path


def make_store(folder: Path) -> TokenStore:
    """Forty sentences of one to six tokens and what they say backwards."""
    generator = np.random.default_rng(0)
    sentences = [generator.integers(4, VOCABULARY, size).tolist() for size in generator.integers(1, 7, 40)]
    return write_store(folder, ((words, words[::-1]) for words in sentences), vocabulary_size=VOCABULARY)


@dataclass
class Training:
    """All parts of a run."""

    model: SequenceModel
    optimiser: torch.optim.Optimizer
    updater: Updater
    stream: BatchStream

    def go(self, settings: TrainingSettings, progress: Progress, observers: Sequence[Observer] = ()) -> LoopState:
        run = LoopState(settings, progress, observers)
        train(self.updater, self.stream, run)
        return run


def make_training(
    store: TokenStore,
    settings: TrainingSettings = SETTINGS,
    model_settings: ModelSettings = MODEL,
    device: torch.device = CPU,
) -> Training:
    torch.manual_seed(settings.seed)
    model = build_model(model_settings, VOCABULARY, VOCABULARY).to(device)
    optimiser = make_optimiser(model, settings)
    schedule = make_schedule(settings, model_settings.width)
    precision = "bfloat16" if settings.precision == "bfloat16" else "float32"
    plan = BatchPlan.of(store, BatchSettings(tokens=40), settings.seed)
    updater = Updater(model, optimiser, schedule, settings, precision)
    arrange = arrangement(settings, 4096, model, precision, device)
    return Training(model, optimiser, updater, BatchStream(store, plan, device, arrange))


def report(step: int, loss: float = 2.0) -> StepReport:
    return StepReport(step, loss, loss, 0.5, 1e-3, 100, 90, 10)


def validation(step: int, loss: float = 1.0, **others: object) -> Validation:
    return Validation(step, loss, 2.7, **others)
