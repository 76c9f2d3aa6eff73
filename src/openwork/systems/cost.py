"""What a model costs, by formula: weights, floating-point operations, memory, and the time and money of a training.

No torch here, so that a plan is instant. The tests hold the weights against models that were built, the operations
against torch's own counter, and the numbers kept for the backward pass against what autograd keeps.
"""

from dataclasses import dataclass
from functools import cached_property

from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.systems.cost_part import Lengths, Part
from openwork.systems.cost_recurrent import recurrent_parts
from openwork.systems.cost_transformer import transformer_parts

LENGTH = 25  # tokens of a sentence, where none are named: about the mean of news text
BYTES = 4  # of a float32; weights, gradients and moments are always float32
FORMULA = (
    "2 operations for each multiplication of a matrix product, queries x keys x (d_k + d_v) a head for attention; "
    "backward twice the forward"
)


@dataclass(frozen=True)
class Machine:
    """What computes. The rate is what it sustains, not what its maker states; the price is for one device."""

    flops_per_second: float
    devices: int = 1
    price_per_hour: float = 0.0


@dataclass(frozen=True)
class Bill:
    """What a training takes: floating-point operations, seconds, and money in the price's currency."""

    flops: float
    seconds: float
    money: float


@dataclass(frozen=True)
class Memory:
    """Bytes while training. `activations` is an estimate: what is kept between forward and backward, in float32."""

    weights: int
    gradients: int
    moments: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.moments + self.activations


@dataclass(frozen=True)
class Cost:
    """A model's cost, for sentence pairs of certain lengths."""

    parts: tuple[Part, ...]
    lengths: Lengths

    @cached_property
    def weights(self) -> int:
        """Learnt numbers, shared ones once."""
        return sum(part.count * part.weights for part in self.parts)

    @cached_property
    def forward_flops(self) -> float:
        """Floating-point operations for one target token, its share of the source included."""
        return 2 * sum(part.count * part.products for part in self.parts) / self.lengths.target

    @property
    def backward_flops(self) -> float:
        """Each product has two gradients, each a product of the same size."""
        return 2 * self.forward_flops

    @property
    def training_flops(self) -> float:
        """Forward and backward, for one target token."""
        return self.forward_flops + self.backward_flops

    def memory(self, target_tokens: int) -> Memory:
        """While training with Adam on batches of so many target tokens and their sources."""
        kept = sum(part.count * part.kept for part in self.parts) * target_tokens / self.lengths.target
        weights = BYTES * self.weights
        return Memory(weights, weights, 2 * weights, round(BYTES * kept))

    def training(self, target_tokens: float, machine: Machine) -> Bill:
        """What a training on so many target tokens takes, all updates together."""
        flops = self.training_flops * target_tokens
        seconds = flops / (machine.flops_per_second * machine.devices)
        return Bill(flops, seconds, seconds / 3600 * machine.devices * machine.price_per_hour)


def cost_of(
    settings: TransformerSettings | RecurrentSettings,
    source_vocabulary: int,
    target_vocabulary: int | None = None,
    *,
    source_length: int = LENGTH,
    target_length: int = LENGTH,
) -> Cost:
    """The cost of a model with these vocabularies (one for both unless two are given) and mean sentence lengths.

    A new family adds one line here.
    """
    target = source_vocabulary if target_vocabulary is None else target_vocabulary
    lengths = Lengths(source_length, target_length)
    match settings:
        case TransformerSettings():
            parts = transformer_parts(settings, source_vocabulary, target, lengths)
        case RecurrentSettings():
            parts = recurrent_parts(settings, source_vocabulary, target, lengths)
    return Cost(tuple(parts), lengths)
