"""Cross-entropy with label smoothing (section 5.4 of the paper), as sums: division happens where a number is shown.

With R-Drop the batch is read twice, each time with dropout of its own, and the two passes' disagreement has a price
(Liang et al. 2021). It is half of that paper's equation 4, so that the loss is in nats per token, and alpha = 0 gives
the plain loss:

    1/2 [CE(p1) + CE(p2)] + alpha/4 [KL(p1 || p2) + KL(p2 || p1)]

With a teacher a share of the loss is its cross-entropy with the teacher's probabilities (Kim and Rush 2016, equation
"word-level"):

    (1 - share) CE(right token, smoothed) + share * -sum over v of p_teacher(v) log p(v)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.machine.card import card_of
from openwork.machine.precision import TYPES, PrecisionName, computing_in
from openwork.machine.thresholds import LOSS_BLOCK, LOSS_CHUNK
from openwork.models.interfaces import SequenceModel
from openwork.nn.kernels import gpu, native
from openwork.nn.kernels.products import add_by_weight, by_input
from openwork.nn.kernels.products import logits as logits_of
from openwork.training.batches.batch import TrainingBatch
from openwork.training.settings import TrainingSettings

SmoothingForm = Literal["vocabulary", "others"]


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


class Soft(NamedTuple):
    """The teacher's part of the wanted distribution, for some rows."""

    ids: Int[Tensor, "rows top"]
    probabilities: Float[Tensor, "rows top"]
    share: float

    def part(self, rows: slice) -> "Soft":
        return Soft(self.ids[rows], self.probabilities[rows], self.share)


class Chunk(NamedTuple):
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
    soft: Soft | None = None,
) -> Chunk:
    """The smoothed loss of some rows, summed in double precision; `probabilities` become its gradient, p - q."""
    hard = 1.0 if soft is None else 1 - soft.share
    normaliser = log_normaliser(logits, probabilities)
    likelihood = (normaliser - logits.gather(-1, right)).sum(dtype=torch.float64)
    uniform = (normaliser - logits.mean(dim=-1, keepdim=True)).sum(dtype=torch.float64)
    gradient = probabilities.sub_(hard * share / logits.shape[-1])
    gradient.scatter_add_(-1, right, torch.full_like(right, hard * (share - 1), dtype=gradient.dtype))
    smoothed = (1 - share) * likelihood + share * uniform
    if soft is not None:
        wanted = soft.probabilities
        cross = (wanted * (normaliser - logits.gather(-1, soft.ids))).sum(dtype=torch.float64)
        gradient.scatter_add_(-1, soft.ids, -soft.share * wanted.to(gradient.dtype))
        smoothed = hard * smoothed + soft.share * cross
    return Chunk(smoothed, likelihood, gradient)


def _one_pass(logits: Tensor, right: Tensor, share: float, soft: Soft | None) -> tuple[Tensor, list[Tensor]]:
    """Sums of the smoothed loss and of the likelihood of some rows; the logits are overwritten by their gradients.

    By a kernel where there is one. Else on a CPU a few rows at a time take all their steps while they are in the cache,
    and a GPU takes all rows at once. Only the GPU's kernel leaves out rows whose right token is negative.
    """
    if soft is None and gpu.is_available(logits.device, "loss"):
        from openwork.nn.kernels.gpu.loss import cross_entropy_

        return cross_entropy_(logits, right.squeeze(-1), share), [logits]
    if soft is None and native.takes(logits):
        from openwork.nn.kernels.native.loss import cross_entropy_

        return cross_entropy_(logits, right.squeeze(-1), share), [logits]
    rows = max(1, LOSS_BLOCK // logits.shape[1]) if logits.device.type == "cpu" else logits.shape[0]
    sums = torch.zeros(2, dtype=torch.float64, device=logits.device)
    for start in range(0, logits.shape[0], rows):
        part = slice(start, start + rows)
        few, few_soft = logits[part], None if soft is None else soft.part(part)
        wide = few.float()
        chunk = chunk_cross_entropy(wide, wide.softmax(dim=-1), right[part], share, few_soft)
        few.copy_(chunk.gradient)
        sums += torch.stack((chunk.smoothed, chunk.likelihood))
    return sums, [logits]


def _two_passes(
    logits: list[Tensor], right: Tensor, share: float, alpha: float, soft: Soft | None
) -> tuple[Tensor, list[Tensor]]:
    """The same with R-Drop, and the gradients with respect to both passes' logits.

    With d = log p1 - log p2, the gradient of KL(p1 || p2) + KL(p2 || p1) with respect to the first logits is
    p1 (d - KL(p1 || p2)) + p1 - p2; for the second all signs and places are exchanged.
    """
    if soft is None and all(map(native.takes, logits)):
        from openwork.nn.kernels.native.loss import divergent_cross_entropy_

        return divergent_cross_entropy_(logits[0], logits[1], right.squeeze(-1), share, alpha), logits
    logits = [each.float() for each in logits]
    one, two = (each.softmax(dim=-1) for each in logits)
    difference = logits[0] - log_normaliser(logits[0], one) - (logits[1] - log_normaliser(logits[1], two))
    forwards = (one * difference).sum(dim=-1, keepdim=True)
    backwards = -(two * difference).sum(dim=-1, keepdim=True)
    bent = one * (difference - forwards) + one - two, two * (-difference - backwards) + two - one
    chunks = [chunk_cross_entropy(each, p, right, share, soft) for each, p in zip(logits, (one, two), strict=True)]
    divergence = (forwards + backwards).sum(dtype=torch.float64)
    smoothed = (chunks[0].smoothed + chunks[1].smoothed) / 2 + alpha / 4 * divergence
    sums = torch.stack((smoothed, (chunks[0].likelihood + chunks[1].likelihood) / 2))
    return sums, [chunk.gradient.div_(2).add_(each, alpha=alpha / 4) for chunk, each in zip(chunks, bent, strict=True)]


class _ProjectedLoss(torch.autograd.Function):
    """The loss joined with the output projection, a chunk of rows at a time.

    The gradient with respect to the logits is known as soon as the loss is (softmax - q for one pass); making it at
    once means that (tokens, vocabulary) never stands in memory and the logits are computed once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        targets: Tensor,
        share: float,
        alpha: float,
        precision: torch.dtype,
        soft: Soft | None,
        *passes: Tensor,
    ) -> tuple[Tensor, Tensor]:
        card = card_of(weight.device)
        chunk = LOSS_CHUNK if card is None else card.logits_at_once
        rows = max(1, max(1, chunk // weight.shape[0]) // len(passes))
        narrow_weight = weight.to(precision)
        hidden_gradients = [torch.empty_like(hidden) for hidden in passes]
        weight_gradient: Tensor | None = None
        sums = torch.zeros(2, dtype=torch.float64, device=weight.device)

        def take(part: slice) -> Tensor:
            """The sums of a chunk, whose gradients are added; its logits are gone before the next ones are made."""
            nonlocal weight_gradient
            narrow = [hidden[part].to(precision) for hidden in passes]
            logits, right = [logits_of(hidden, narrow_weight) for hidden in narrow], targets[part, None]
            few_soft = None if soft is None else soft.part(part)
            few, found = (
                _one_pass(logits[0], right, share, few_soft)
                if len(passes) == 1
                else _two_passes(logits, right, share, alpha, few_soft)
            )
            for hidden, gradient, whole in zip(narrow, found, hidden_gradients, strict=True):
                gradient = gradient.to(precision)
                whole[part] = by_input(gradient, narrow_weight)
                weight_gradient = add_by_weight(gradient, hidden, weight_gradient)
            return few

        for start in range(0, targets.shape[0], rows):
            sums += take(slice(start, start + rows))
        if weight_gradient is None:  # no tokens at all
            weight_gradient = torch.zeros_like(weight, dtype=torch.float32)
        ctx.save_for_backward(weight_gradient, *hidden_gradients)
        smoothed, likelihood = sums.unbind()
        ctx.mark_non_differentiable(likelihood)
        return smoothed.float(), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        weight_gradient, *hidden_gradients = [tensor * gradients[0] for tensor in ctx.saved_tensors]
        return weight_gradient, None, None, None, None, None, *hidden_gradients


def projected_loss(
    passes: Sequence[Float[Tensor, "tokens width"]],
    weight: Float[Tensor, "vocabulary width"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    precision: torch.dtype = torch.float32,
    form: SmoothingForm = "vocabulary",
    alpha: float = 0.0,
    soft: Soft | None = None,
) -> LossSums:
    """`smoothed_cross_entropy(hidden @ weight.T, ...)` of one pass, R-Drop of two, without ever holding all the logits.

    `precision` is the type of the matrix products; sums and softmax are in float32. `soft`: of a teacher.
    """
    share = even_share(smoothing, form, weight.shape[0])
    smoothed, likelihood = _ProjectedLoss.apply(weight, targets, share, alpha, precision, soft, *passes)
    return LossSums(smoothed, likelihood, targets.numel())


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
    alpha: float = 0.0,
    soft_share: float = 0.0,
) -> LossSums:
    """The loss sums over the real target tokens of a batch under teacher forcing; with R-Drop unless `alpha` is 0.

    `soft_share`: what the probabilities of the batch's teacher are of the loss.
    """
    passes = [hidden_states(model, batch, precision) for _ in range(2 if alpha else 1)]
    weight = model.output_weight
    if model.output_bias is not None:
        # A 1 at the end of each vector, and the bias as the last column of the matrix: their products are the logits.
        passes = [torch.cat([hidden, hidden.new_ones(hidden.shape[0], 1)], dim=-1) for hidden in passes]
        weight = torch.cat([weight, model.output_bias[:, None].to(weight.dtype)], dim=-1)
    soft = Soft(*batch.teacher, soft_share) if batch.teacher is not None else None
    targets = batch.real_targets
    if batch.fills_targets and not (gpu.is_available(targets.device, "loss") and soft is None and not alpha):
        is_real = targets >= 0
        passes, targets = [hidden[is_real] for hidden in passes], targets[is_real]
    sums = projected_loss(passes, weight, targets, smoothing, TYPES[precision], form, alpha, soft)
    return replace(sums, tokens=batch.target_tokens)


Objective = Callable[[SequenceModel, TrainingBatch], LossSums]


def make_objective(settings: TrainingSettings, precision: PrecisionName, soft_share: float = 0.0) -> Objective:
    """`soft_share`: what the probabilities of a teacher are of the loss, for batches that have one."""
    smoothing, form, alpha = settings.label_smoothing, settings.smoothing_form, settings.r_drop
    return partial(batch_loss, smoothing=smoothing, precision=precision, form=form, alpha=alpha, soft_share=soft_share)
