"""A training that stands ready, as the parts of the preflight look at it."""

from dataclasses import dataclass
from functools import cached_property

import torch

from openwork.data.sources import PairSource
from openwork.data.store import TokenStore
from openwork.models.interfaces import SequenceModel
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from openwork.runs.validation.validator import Validator
from openwork.text.pair import TokenizerPair
from openwork.training.batches.batch import BatchStream
from openwork.training.moving_average import MovingAverage
from openwork.training.step import Updater


@dataclass(frozen=True)
class PreflightContext:
    """`out`: where checkpoints and bundle will be; `train_pairs`: the texts that the stream's ids are of."""

    settings: RunSettings
    out: RunFolder
    updater: Updater
    stream: BatchStream
    validator: Validator
    train_pairs: PairSource
    moving_average: MovingAverage | None = None

    @property
    def model(self) -> SequenceModel:
        return self.updater.model

    @property
    def optimiser(self) -> torch.optim.Optimizer:
        return self.updater.optimiser

    @property
    def device(self) -> torch.device:
        return self.stream.device

    @property
    def train(self) -> TokenStore:
        return self.stream.store

    @property
    def valid(self) -> TokenStore:
        return self.validator.store

    @cached_property
    def tokenizers(self) -> TokenizerPair:
        return self.validator.translator.tokenizers
