"""The units of the cost model: one kind of sub-layer, and the peak memory of an update. No torch here."""

from dataclasses import dataclass

from openwork.machine.thresholds import LOSS_BLOCK, LOSS_CHUNK


@dataclass(frozen=True)
class SentenceLengths:
    """Tokens of a sentence and of its translation, end symbols included; means of many are fractions."""

    source: float
    target: float


@dataclass(frozen=True)
class CostPart:
    """A kind of sub-layer, `count` times in the model, and the cost of one for one sentence pair.

    Args:
        weights: number of weights.
        products: multiply-adds of the forward pass; two floating-point operations each. Elementwise operations (norms,
            softmax, activations, dropout, sums) are left out: below 2 % in the paper's sizes.
        kept: numbers that the forward pass keeps for the backward pass, in the type of the matrix products.
        wide: numbers that it keeps in float32, whatever that type is.
        plain: numbers that it keeps only if that type is float32.
        narrow: numbers that it keeps, in that type, only if that is a narrow one, which is computed in another way.
    """

    name: str
    count: int
    weights: int
    products: float = 0
    kept: float = 0
    wide: float = 0
    plain: float = 0
    narrow: float = 0


# Overhead of the C library's heap, as a share of the memory that an update allocates and frees: gaps between blocks
# that it does not return to the system. Measured (docs/growth.md): 0.35 to 0.55.
HEAP = 0.4
BYTES = 4  # of a float32; weights, gradients and moments are always float32
BLOCKS = 3  # float32 copies of the logits that pass through the softmax at once (training/loss.py)


@dataclass(frozen=True)
class MemoryCost:
    """Peak memory of an update, in bytes.

    Args:
        copies: the weights of linear layers in a narrow type.
        activations: numbers that the forward pass keeps for the backward pass.
        passing: temporary memory.
    """

    weights: int
    copies: int
    gradients: int
    moments: int
    activations: int
    passing: int

    @property
    def resident(self) -> int:
        """Resident memory of the process on a CPU, without its libraries."""
        return self.total + round(HEAP * (self.activations + self.passing))

    @property
    def total(self) -> int:
        return self.weights + self.copies + self.gradients + self.moments + self.activations + self.passing


def loss_bytes(tokens: float, vocabulary: int, width: int, size: int) -> float:
    """Temporary memory of the joined output projection and loss of this many target tokens.

    The tokens' vectors are in memory three times: all, the selected ones, and their gradient. The output matrix has a
    float32 gradient and the next chunk's addition to it, after the softmax; a narrow type has its own copy of it.
    """
    rows = max(1, LOSS_CHUNK // vocabulary)
    vectors = 3 * tokens * width * size
    logits = min(tokens, rows) * vocabulary * size
    blocks = BLOCKS * min(tokens * vocabulary, max(LOSS_BLOCK, vocabulary)) * BYTES
    is_narrow = size < BYTES
    gradients = (BYTES + size * (is_narrow or tokens > rows)) * vocabulary * width
    return vectors + logits + max(blocks, gradients) + size * is_narrow * vocabulary * width


def ending_bytes(weights: int, linear: int, table: int, size: int) -> float:
    """Memory at the end of a backward pass: all gradients, those of linear layers in their own type, and once more the
    gradient of the embeddings, which is a sum of several.
    """
    return BYTES * (weights - linear) + size * linear + BYTES * table
