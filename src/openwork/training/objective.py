"""What an update minimises: the loss of a batch under teacher forcing, as the settings want it."""

from collections.abc import Callable

from torch import Tensor

from openwork.machine.precision import TYPES, PrecisionName, computing_in
from openwork.models.interfaces import SequenceModel
from openwork.training.batches.stream import TrainingBatch
from openwork.training.loss import LossSums, SmoothingForm, projected_cross_entropy, with_bias
from openwork.training.r_drop import projected_r_drop
from openwork.training.settings import TrainingSettings

Objective = Callable[[SequenceModel, TrainingBatch], LossSums]


def hidden_states(model: SequenceModel, batch: TrainingBatch, precision: PrecisionName) -> Tensor:
    """Vectors (tokens, width) before the output projection, at the real target tokens of a batch."""
    with computing_in(precision, batch.real_targets.device):
        return batch.hidden(model)


def batch_loss(
    model: SequenceModel,
    batch: TrainingBatch,
    smoothing: float,
    precision: PrecisionName,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """Cross-entropy: the loss sums over the real target tokens of a batch."""
    hidden = hidden_states(model, batch, precision)
    weight = model.output_weight
    if model.output_bias is not None:
        hidden, weight = with_bias(hidden, weight, model.output_bias)
    return projected_cross_entropy(hidden, weight, batch.real_targets, smoothing, TYPES[precision], form)


def batch_r_drop(
    model: SequenceModel, batch: TrainingBatch, settings: TrainingSettings, precision: PrecisionName
) -> LossSums:
    """The same with R-Drop: the batch is read twice, each time with dropout of its own."""
    both, weight = (hidden_states(model, batch, precision), hidden_states(model, batch, precision)), model.output_weight
    if model.output_bias is not None:
        first, _ = with_bias(both[0], weight, model.output_bias)
        second, weight = with_bias(both[1], weight, model.output_bias)
        both = first, second
    smoothing, form = settings.label_smoothing, settings.smoothing_form
    return projected_r_drop(both, weight, batch.real_targets, smoothing, settings.r_drop, TYPES[precision], form)


def make_objective(settings: TrainingSettings, precision: PrecisionName) -> Objective:
    """The loss that the settings describe."""
    if settings.r_drop > 0:
        return lambda model, batch: batch_r_drop(model, batch, settings, precision)
    smoothing, form = settings.label_smoothing, settings.smoothing_form
    return lambda model, batch: batch_loss(model, batch, smoothing, precision, form)
