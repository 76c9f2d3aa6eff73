"""Sizes at which a CPU computes in another way. Read by the code that does so and by the cost model. No torch here."""

# Scores of a head up to which attention takes the plain formula, which keeps its weights (benchmarks/parts).
PLAIN_ATTENTION = 16 * 16
# Scores of a head up to which attention in bfloat16 has a kernel of its own (nn/kernels/short.py).
BFLOAT16_ATTENTION = 96 * 96
# float32 numbers in a vector register: the softmax of rows of other lengths is several times slower.
LANES = 16
# Logits in memory at once in the loss: enough rows to keep the matrix products at their full rate.
LOSS_CHUNK = 8_000_000
# Of these, the logits that pass through the softmax at once: 1 MB of float32, which stays in a core's own cache while
# five operations go over it (docs/speed.md: a fifth of the loss's time).
LOSS_BLOCK = 256_000
