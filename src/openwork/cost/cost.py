"""What a model costs, by formula: weights, floating-point operations, memory, and the time and money of a training.

No torch here, so that a plan is instant. The tests hold the weights against models that were built, the operations
against torch's own counter, and the numbers kept for the backward pass against what autograd keeps. A family without
formulas is counted (`counted.py`), for which torch is loaded.
"""

from dataclasses import dataclass
from functools import cached_property

from openwork.cost.decoder import decoder_parts
from openwork.cost.memory import BYTES, MemoryCost, ending_bytes, loss_bytes
from openwork.cost.part import CostPart, SentenceLengths
from openwork.cost.recurrent import recurrent_parts
from openwork.cost.transformer import has_formulas, transformer_parts
from openwork.models.decoder_settings import DecoderSettings
from openwork.models.families import ModelSettings
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings

LENGTH = 25  # tokens of a sentence, where none are named: about the mean of news text
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
class Cost:
    """A model's cost, for sentence pairs of certain lengths. `output`: rows and columns of the output matrix."""

    parts: tuple[CostPart, ...]
    lengths: SentenceLengths
    output: tuple[int, int]

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

    def kept(self, target_tokens: float, size: int = BYTES) -> float:
        """Bytes that a forward pass over so many target tokens and their sources keeps for its backward pass.

        `size`: bytes of a number of the matrix products, 4 or 2.
        """
        one = sum(
            part.count * (size * (part.kept + (part.narrow if size < BYTES else part.plain)) + BYTES * part.wide)
            for part in self.parts
        )
        return one * target_tokens / self.lengths.target

    @cached_property
    def linear(self) -> int:
        """The weights of the layers that multiply their input by a matrix; embeddings and output are none of them."""
        return sum(part.count * part.weights for part in self.parts[1:] if part.products)

    def memory(self, target_tokens: float, size: int = BYTES, workers: int = 1) -> MemoryCost:
        """At the fullest moment of an update with Adam on so many target tokens and their sources.

        `size`: bytes of a number of the matrix products, 4 or 2. `workers`: threads that compute a part each.
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
        """What a training on so many target tokens takes, all updates together."""
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

    A family whose plan should need no torch is named in `_by_formula`; all others are counted, at whole lengths.
    """
    target = source_vocabulary if target_vocabulary is None else target_vocabulary
    lengths = SentenceLengths(source_length, target_length)
    by_formula = _by_formula(settings, source_vocabulary, target, lengths)
    if by_formula is not None:
        return by_formula
    from openwork.cost.counted import count_cost

    counted = count_cost(settings, source_vocabulary, target, lengths)
    return Cost(counted.parts, counted.lengths, counted.output)


def weights_of(settings: ModelSettings, vocabulary: int) -> int:
    """The weights alone, with one vocabulary for both sides; without formulas they are known sooner than the cost."""
    by_formula = _by_formula(settings, vocabulary, vocabulary, SentenceLengths(LENGTH, LENGTH))
    if by_formula is not None:
        return by_formula.weights
    from openwork.cost.counted import built_weights

    return built_weights(settings, vocabulary)


def _by_formula(settings: ModelSettings, source: int, target: int, lengths: SentenceLengths) -> Cost | None:
    match settings:
        case TransformerSettings() if has_formulas(settings):
            parts = transformer_parts(settings, source, target, lengths)
            return Cost(tuple(parts), lengths, (target, settings.stream_start))
        case RecurrentSettings():
            parts = recurrent_parts(settings, source, target, lengths)
            return Cost(tuple(parts), lengths, (target, settings.width))
        case DecoderSettings() if has_formulas(settings):
            parts = decoder_parts(settings, target, lengths)
            return Cost(tuple(parts), lengths, (target, settings.stream_start))
        case _:
            return None
