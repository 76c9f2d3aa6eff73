"""Cost of a model by formula: weights, floating-point operations (FLOPs), memory, and the time and price of a training.

No torch here, so that a plan is instant. Tests compare the weights with built models, the operations with torch's own
counter, and the numbers kept for the backward pass with autograd. Models without formulas are counted (`counted.py`),
which loads torch.
"""

from dataclasses import dataclass
from functools import cached_property

from openwork.base.messages import msg
from openwork.cost.part import BYTES, CostPart, MemoryCost, SentenceLengths, ending_bytes, loss_bytes
from openwork.cost.transformer import has_formulas, transformer_parts
from openwork.models.families import ModelSettings
from openwork.models.settings import TransformerSettings

LENGTH = 25  # default tokens of a sentence: about the mean of news text
FORMULA = msg(
    "2 operations for each multiplication of a matrix product, queries x keys x (d_k + d_v) a head for attention; "
    "backward twice the forward"
)


@dataclass(frozen=True)
class Machine:
    """The machine of a training: its sustained rate, not the peak rate of its maker; the price is for one device."""

    flops_per_second: float
    devices: int = 1
    price_per_hour: float = 0.0


@dataclass(frozen=True)
class Bill:
    """Cost of a training: floating-point operations, seconds, and money in the price's currency."""

    flops: float
    seconds: float
    money: float


@dataclass(frozen=True)
class Cost:
    """Cost of a model for sentence pairs of these lengths. `output`: rows and columns of the output matrix."""

    parts: tuple[CostPart, ...]
    lengths: SentenceLengths
    output: tuple[int, int]

    @cached_property
    def weights(self) -> int:
        """The number of weights; shared ones count once."""
        return sum(part.count * part.weights for part in self.parts)

    @cached_property
    def forward_flops(self) -> float:
        """Floating-point operations for one target token and its share of the source."""
        return 2 * sum(part.count * part.products for part in self.parts) / self.lengths.target

    @property
    def backward_flops(self) -> float:
        """Twice the forward operations: each product has two gradients, which are products of the same size."""
        return 2 * self.forward_flops

    @property
    def training_flops(self) -> float:
        """Forward and backward operations for one target token."""
        return self.forward_flops + self.backward_flops

    def kept(self, target_tokens: float, size: int = BYTES) -> float:
        """Bytes that a forward pass over these target tokens and their sources keeps for the backward pass.

        `size`: bytes of a number in the matrix products, 4 or 2.
        """
        one = sum(
            part.count * (size * (part.kept + (part.narrow if size < BYTES else part.plain)) + BYTES * part.wide)
            for part in self.parts
        )
        return one * target_tokens / self.lengths.target

    @cached_property
    def linear(self) -> int:
        """The weights of linear layers, without embeddings and output."""
        return sum(part.count * part.weights for part in self.parts[1:] if part.products)

    def memory(self, target_tokens: float, size: int = BYTES, workers: int = 1) -> MemoryCost:
        """Peak memory of an update with Adam on these target tokens and their sources.

        `size`: bytes of a number in the matrix products, 4 or 2. `workers`: threads, each with a part of the batch.
        """
        weights, kept = BYTES * self.weights, self.kept(target_tokens, size)
        vocabulary, width = self.output
        loss = workers * loss_bytes(target_tokens / workers, vocabulary, width, size)
        ending = workers * ending_bytes(self.weights, self.linear, vocabulary * width, size)
        return MemoryCost(
            weights=weights,
            copies=size * self.linear if size < BYTES else 0,
            gradients=weights,
            moments=2 * weights,
            activations=round(kept),
            passing=round(max(loss, ending - kept)),
        )

    def training(self, target_tokens: float, machine: Machine) -> Bill:
        """Cost of a training on this many target tokens, over all updates."""
        flops = self.training_flops * target_tokens
        seconds = flops / (machine.flops_per_second * machine.devices)
        return Bill(flops, seconds, seconds / 3600 * machine.devices * machine.price_per_hour)


def cost_of(
    settings: ModelSettings,
    source_vocabulary: int,
    target_vocabulary: int | None = None,
    *,
    source_length: float = LENGTH,
    target_length: float = LENGTH,
) -> Cost:
    """The cost of a model with these vocabularies (one for both unless two are given) and mean sentence lengths.

    A Transformer of the paper's parts needs no torch; other models are counted, at whole lengths.
    """
    target = source_vocabulary if target_vocabulary is None else target_vocabulary
    lengths = SentenceLengths(source_length, target_length)
    if isinstance(settings, TransformerSettings) and has_formulas(settings):
        parts = transformer_parts(settings, source_vocabulary, target, lengths)
        return Cost(tuple(parts), lengths, (target, settings.width))
    from openwork.cost.counted import count_cost

    return Cost(*count_cost(settings, source_vocabulary, target, lengths))


def weights_of(settings: ModelSettings, vocabulary: int) -> int:
    """The number of weights alone, with one vocabulary for both sides; quicker than `cost_of` without formulas."""
    if isinstance(settings, TransformerSettings) and has_formulas(settings):
        return cost_of(settings, vocabulary).weights
    from openwork.cost.counted import built_weights

    return built_weights(settings, vocabulary)
