"""Cross-entropy with label smoothing (section 5.4 of the paper), as sums: division happens where a number is shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.machine.precision import TYPES, PrecisionName, computing_in
from openwork.machine.thresholds import LOSS_BLOCK, LOSS_CHUNK
from openwork.models.interfaces import SequenceModel
from openwork.training.batches.batch import TrainingBatch
from openwork.training.settings import TrainingSettings

SmoothingForm = Literal["vocabulary", "others"]

GPU_CHUNK = 256_000_000  # logits in memory at once on a GPU; LOSS_CHUNK on a CPU


@dataclass(frozen=True)
class LossSums:
    """`smoothed` is what training minimises, `likelihood` the plain -log p of the right tokens, `tokens` a count."""

    smoothed: Tensor
    likelihood: Tensor
    tokens: int


def even_share(smoothing: float, form: SmoothingForm, vocabulary: int) -> float:
    """The probability that is spread evenly over all `vocabulary` tokens, the right one included.

    In the form "vocabulary" (Szegedy et al. 2016, which the paper cites) that is `smoothing` itself. In the form
    "others" each of the V - 1 wrong tokens gets smoothing / (V - 1) and the right one 1 - smoothing: an even share of
    smoothing V / (V - 1) gives just that, since 1 - share + share / V = 1 - smoothing.
    """
    return smoothing * vocabulary / (vocabulary - 1) if form == "others" and vocabulary > 1 else smoothing


def smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocabulary"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """-sum_v q(v) log p(v) with q = (1 - share) on the right token and share / V spread over all V (`even_share`)."""
    share = even_share(smoothing, form, logits.shape[-1])
    log_probabilities = logits.float().log_softmax(dim=-1)
    likelihood = -log_probabilities.gather(-1, targets[:, None]).sum()
    uniform = -log_probabilities.mean(dim=-1).sum()
    return LossSums((1 - share) * likelihood + share * uniform, likelihood.detach(), targets.numel())


def chunk_rows(weight: Tensor) -> int:
    """Rows of logits that are made at once by this output matrix."""
    return max(1, (LOSS_CHUNK if weight.device.type == "cpu" else GPU_CHUNK) // weight.shape[0])


@dataclass(frozen=True)
class Chunk:
    """What some rows of logits come to. `gradient` is that of `smoothed` with respect to the logits."""

    smoothed: Tensor
    likelihood: Tensor
    gradient: Tensor  # (rows, vocabulary)


def log_normaliser(logits: Tensor, probabilities: Tensor) -> Tensor:
    """log sum exp (rows, 1) from the largest entry of each row: a second pass over exp would cost as much again."""
    return logits.amax(dim=-1, keepdim=True) - probabilities.amax(dim=-1, keepdim=True).log()


def chunk_cross_entropy(
    logits: Float[Tensor, "rows vocabulary"],
    probabilities: Float[Tensor, "rows vocabulary"],
    right: Int[Tensor, "rows 1"],
    share: float,
) -> Chunk:
    """The smoothed loss of some rows, summed in double precision; `probabilities` become its gradient, p - q."""
    normaliser = log_normaliser(logits, probabilities)
    likelihood = (normaliser - logits.gather(-1, right)).sum(dtype=torch.float64)
    uniform = (normaliser - logits.mean(dim=-1, keepdim=True)).sum(dtype=torch.float64)
    gradient = probabilities.sub_(share / logits.shape[-1])
    gradient.scatter_add_(-1, right, torch.full_like(right, share - 1, dtype=gradient.dtype))
    return Chunk((1 - share) * likelihood + share * uniform, likelihood, gradient)


def _become_gradients(
    logits: Float[Tensor, "rows vocabulary"], right: Int[Tensor, "rows 1"], share: float
) -> Float[Tensor, "2"]:
    """Sums of the smoothed loss and of the likelihood of some rows; the logits are overwritten by their gradients.

    On a CPU a few rows at a time take all their steps while they are in the cache; a GPU takes all rows at once.
    """
    rows = max(1, LOSS_BLOCK // logits.shape[1]) if logits.device.type == "cpu" else logits.shape[0]
    sums = torch.zeros(2, dtype=torch.float64, device=logits.device)
    for few, few_right in zip(logits.split(rows), right.split(rows), strict=True):
        wide = few.float()
        chunk = chunk_cross_entropy(wide, wide.softmax(dim=-1), few_right, share)
        few.copy_(chunk.gradient)
        sums += torch.stack((chunk.smoothed, chunk.likelihood))
    return sums


class _ProjectedCrossEntropy(torch.autograd.Function):
    """The same joined with the output projection, a chunk of rows at a time.

    The gradient with respect to the logits is softmax - q, known as soon as the loss is; making it at once means
    that (tokens, vocabulary) never stands in memory and the logits are computed once.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, share: float, precision: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        rows = chunk_rows(weight)
        narrow_weight = weight.to(precision)
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient: Tensor | None = None
        sums = torch.zeros(2, dtype=torch.float64, device=hidden.device)
        for start in range(0, hidden.shape[0], rows):
            narrow = hidden[start : start + rows].to(precision)
            logits = narrow @ narrow_weight.T
            sums += _become_gradients(logits, targets[start : start + rows, None], share)
            hidden_gradient[start : start + rows] = logits @ narrow_weight
            added = logits.T @ narrow
            weight_gradient = added.float() if weight_gradient is None else weight_gradient.add_(added)
            del logits, added  # before the next ones are made
        if weight_gradient is None:  # no tokens at all
            weight_gradient = torch.zeros_like(weight, dtype=torch.float32)
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        smoothed, likelihood = sums.unbind()
        ctx.mark_non_differentiable(likelihood)
        return smoothed.float(), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        scale = gradients[0]
        return hidden_gradient * scale, weight_gradient * scale, None, None, None


def with_bias(
    hidden: Float[Tensor, "tokens width"], weight: Float[Tensor, "vocabulary width"], bias: Float[Tensor, "vocabulary"]
) -> tuple[Float[Tensor, "tokens width_and_one"], Float[Tensor, "vocabulary width_and_one"]]:
    """Vectors with a 1 at their end, and a matrix with the bias as its last column: their products are the logits."""
    ones = hidden.new_ones(hidden.shape[0], 1)
    return torch.cat([hidden, ones], dim=-1), torch.cat([weight, bias[:, None].to(weight.dtype)], dim=-1)


def projected_cross_entropy(
    hidden: Float[Tensor, "tokens width"],
    weight: Float[Tensor, "vocabulary width"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    precision: torch.dtype = torch.float32,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """`smoothed_cross_entropy(hidden @ weight.T, ...)` without ever holding all the logits.

    `precision` is the type of the matrix products; sums and softmax are in float32.
    """
    share = even_share(smoothing, form, weight.shape[0])
    smoothed, likelihood = _ProjectedCrossEntropy.apply(hidden, weight, targets, share, precision)
    return LossSums(smoothed, likelihood, targets.numel())


def r_drop_loss(
    first: Float[Tensor, "tokens vocabulary"],
    second: Float[Tensor, "tokens vocabulary"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    alpha: float,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """The formula as it is written, from the logits of both passes."""
    one, two = (smoothed_cross_entropy(logits, targets, smoothing, form) for logits in (first, second))
    log_one, log_two = first.float().log_softmax(dim=-1), second.float().log_softmax(dim=-1)
    forwards = (log_one.exp() * (log_one - log_two)).sum()
    backwards = (log_two.exp() * (log_two - log_one)).sum()
    smoothed = (one.smoothed + two.smoothed) / 2 + alpha / 4 * (forwards + backwards)
    return LossSums(smoothed, (one.likelihood + two.likelihood) / 2, targets.numel())


def _chunk(
    logits: tuple[Tensor, Tensor], right: Tensor, share: float, alpha: float
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Loss and likelihood of some rows, and the gradients with respect to both their logits.

    With d = log p1 - log p2, the gradient of KL(p1 || p2) + KL(p2 || p1) with respect to the first logits is
    p1 (d - KL(p1 || p2)) + p1 - p2; for the second all signs and places are exchanged.
    """
    one, two = (each.softmax(dim=-1) for each in logits)
    difference = logits[0] - log_normaliser(logits[0], one) - (logits[1] - log_normaliser(logits[1], two))
    forwards = (one * difference).sum(dim=-1, keepdim=True)
    backwards = -(two * difference).sum(dim=-1, keepdim=True)
    bent_one = one * (difference - forwards) + one - two
    bent_two = two * (-difference - backwards) + two - one
    chunks = [chunk_cross_entropy(each, p, right, share) for each, p in zip(logits, (one, two), strict=True)]
    gradients = (
        chunks[0].gradient.div_(2).add_(bent_one, alpha=alpha / 4),
        chunks[1].gradient.div_(2).add_(bent_two, alpha=alpha / 4),
    )
    divergence = (forwards + backwards).sum(dtype=torch.float64)
    smoothed = (chunks[0].smoothed + chunks[1].smoothed) / 2 + alpha / 4 * divergence
    return smoothed, (chunks[0].likelihood + chunks[1].likelihood) / 2, gradients


class _ProjectedRDrop(torch.autograd.Function):
    """The same joined with the output projection, a chunk of rows at a time (see `_ProjectedCrossEntropy`)."""

    @staticmethod
    def forward(
        ctx: Any, first: Tensor, second: Tensor, weight: Tensor, targets: Tensor, share: float, alpha: float,
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        rows = max(1, chunk_rows(weight) // 2)
        narrow_weight = weight.to(precision)
        hidden_gradients = torch.empty_like(first), torch.empty_like(second)
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32)
        sums = torch.zeros(2, dtype=torch.float64, device=first.device)
        for start in range(0, first.shape[0], rows):
            part = slice(start, start + rows)
            narrow = first[part].to(precision), second[part].to(precision)
            logits = (narrow[0] @ narrow_weight.T).float(), (narrow[1] @ narrow_weight.T).float()
            smoothed, likelihood, gradients = _chunk(logits, targets[part, None], share, alpha)
            sums += torch.stack((smoothed, likelihood))
            for hidden, gradient, whole in zip(narrow, gradients, hidden_gradients, strict=True):
                narrow_gradient = gradient.to(precision)
                whole[part] = narrow_gradient @ narrow_weight
                weight_gradient += narrow_gradient.T @ hidden
        ctx.save_for_backward(*hidden_gradients, weight_gradient)
        smoothed, likelihood = sums.unbind()
        ctx.mark_non_differentiable(likelihood)
        return smoothed.float(), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scale = gradients[0]
        return *(tensor * scale for tensor in ctx.saved_tensors), None, None, None, None


def projected_r_drop(
    hidden: tuple[Float[Tensor, "tokens width"], Float[Tensor, "tokens width"]],
    weight: Float[Tensor, "vocabulary width"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    alpha: float,
    precision: torch.dtype = torch.float32,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """`r_drop_loss` of both passes' vectors, projected by `weight`, without ever holding all the logits."""
    share = even_share(smoothing, form, weight.shape[0])
    smoothed, likelihood = _ProjectedRDrop.apply(*hidden, weight, targets, share, alpha, precision)
    return LossSums(smoothed, likelihood, targets.numel())


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
