"""Upper limits of settings and options: above any use, and below values that overflow or compute without end.

A product of several may still be too large for a machine; the memory checks find that.
"""

from typing import Annotated

from pydantic import Field

SEED = 2**32 - 1
UPDATES = 10**9  # and counts of updates, such as intervals
LINES = 10**9  # sentences, pairs, occurrences in a corpus
BATCHES = 1000  # in one update, or prepared ahead
TOKENS = 10**7  # in one batch
LENGTH = 10**6  # tokens or characters of one text; pieces of a vocabulary
WIDTH = 2**17
HEADS = 1024
LAYERS = 1000
KERNEL = 1000  # width of a convolution
HYPOTHESES = 1_000  # of one sentence
SAMPLES = 10_000  # likewise
CHECKPOINTS = 1000
THREADS = 1024
FACTOR = 1000.0  # rates, weights in a loss, temperatures, deviations
EXPONENT = 10.0
RATIO = 10.0**9
OPERATIONS = 10.0**18  # a second, of one device
BASE = 10.0**12  # of angles

Width = Annotated[int, Field(ge=1, le=WIDTH)]
HeadCount = Annotated[int, Field(ge=1, le=HEADS)]
LayerCount = Annotated[int, Field(ge=1, le=LAYERS)]
KernelWidth = Annotated[int, Field(ge=1, le=KERNEL)]
TokenCount = Annotated[int, Field(ge=1, le=LENGTH)]
DropRate = Annotated[float, Field(ge=0, lt=1)]
