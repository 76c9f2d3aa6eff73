"""What stands in memory during an update, by formula. No torch here.

Weights, gradients and the optimiser's moments stay; the activations grow until the loss is reached, and fall while the
gradients grow. So an update needs most in one of two moments: in the loss, when everything is kept and a chunk of the
logits stands beside it, or at the end of the backward pass, when all gradients are there and little is kept.
"""

from dataclasses import dataclass

# Of what comes and goes in an update, what the C library's heap holds besides: gaps between blocks of changing sizes
# that it does not give back to the system. Measured (docs/growth.md): 0.35 to 0.55.
HEAP = 0.4
BYTES = 4  # of a float32; weights, gradients and moments are always float32
# The loss (training/loss.py): logits of a chunk, and logits that pass through the softmax at once with the float32
# copies that this takes.
CHUNK = 8_000_000
BLOCK, BLOCKS = 256_000, 3


@dataclass(frozen=True)
class MemoryCost:
    """Bytes at the fullest moment of an update.

    Args:
        copies: the weights of linear layers once more, in a narrow type.
        activations: what the forward pass keeps for the backward pass.
        passing: what stands beside all that only for a moment.
    """

    weights: int
    copies: int
    gradients: int
    moments: int
    activations: int
    passing: int

    @property
    def resident(self) -> int:
        """What the system counts for the process on a CPU, besides its libraries."""
        return self.total + round(HEAP * (self.activations + self.passing))

    @property
    def total(self) -> int:
        return self.weights + self.copies + self.gradients + self.moments + self.activations + self.passing


def loss_bytes(tokens: float, vocabulary: int, width: int, size: int) -> float:
    """Of the joined projection and loss of so many target tokens.

    The vectors of the tokens come in, are picked out, and get a gradient. The matrix has a gradient in float32, and
    beside it what the next chunk adds to it; in a narrow type there is also the matrix in that type.
    These gradients come when the softmax is over.
    """
    rows = max(1, CHUNK // vocabulary)
    vectors = 3 * tokens * width * size
    logits = min(tokens, rows) * vocabulary * size
    blocks = BLOCKS * min(tokens * vocabulary, max(BLOCK, vocabulary)) * BYTES
    is_narrow = size < BYTES
    gradients = (BYTES + size * (is_narrow or tokens > rows)) * vocabulary * width
    return vectors + logits + max(blocks, gradients) + size * is_narrow * vocabulary * width


def ending_bytes(weights: int, linear: int, table: int, size: int) -> float:
    """At the end of a backward pass: all gradients, those of linear layers in their own type, and one of the embeddings
    once more, whose gradients come from several places and are added up.
    """
    return BYTES * (weights - linear) + size * linear + BYTES * table
