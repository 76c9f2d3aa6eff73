"""Trains a model that its tokens may leave early: `openwork train` with a loss of an earlier layer besides.

    python benchmarks/early_exit_training.py train FILE.toml --out RUN

For each batch one of the decoder's layers but the last is drawn. The final norm and the output matrix predict the next
tokens from its vectors too, and half of the loss is theirs (Elbayad et al. 2020, aligned training, with a layer drawn
in place of the mean of all).
"""

import random
from collections.abc import Callable
from typing import Any

from torch import Tensor

from openwork.cli.main import main
from openwork.machine.precision import TYPES, PrecisionName
from openwork.models.interfaces import SequenceModel
from openwork.models.seq2seq import Transformer
from openwork.training import step
from openwork.training.batches.batch import TensorBatch, TrainingBatch
from openwork.training.loss import LossSums, projected_loss
from openwork.training.settings import TrainingSettings


def make_objective(
    settings: TrainingSettings, precision: PrecisionName, *_: Any
) -> Callable[[SequenceModel, TrainingBatch], LossSums]:
    """In place of that of the same name."""

    def loss(model: Transformer, hidden: Tensor, batch: TensorBatch) -> LossSums:
        smoothing, form = settings.label_smoothing, settings.smoothing_form
        return projected_loss([hidden], model.output_weight, batch.real_targets, smoothing, TYPES[precision], form)

    def objective(model: SequenceModel, batch: TrainingBatch) -> LossSums:
        assert isinstance(model, Transformer) and isinstance(batch, TensorBatch)
        earlier: list[Tensor] = []
        layer = random.choice(list(model.decoder.layers)[:-1])
        hook = layer.register_forward_hook(lambda _, __, output: earlier.append(output[0]))
        last = loss(model, batch.hidden(model), batch)
        hook.remove()
        vectors = model.narrow(model.decoder.final_norm(earlier[0])).flatten(0, 1).index_select(0, batch.real)
        early = loss(model, vectors, batch)
        return LossSums((last.smoothed + early.smoothed) / 2, last.likelihood, batch.target_tokens)

    return objective


if __name__ == "__main__":
    step.make_objective = make_objective
    main()
