"""The sizes of buffers: few, so that the graph of one batch serves others, and not much larger than needed."""

from dataclasses import dataclass

from openwork.nn.kernels.gpu import doubled

SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 768, 1024)  # more are searched one part after another
LEAST_SOURCE = 16
LEAST_CAPACITY = 32
LIKELY, MARGIN = 1.25, 8  # tokens of a target for each of its source, and besides


@dataclass(frozen=True)
class FixedSizes:
    """Sentences, hypotheses of each, positions of a source, and tokens of a target."""

    sentences: int
    beam: int
    source: int
    capacity: int

    @property
    def doubled(self) -> "FixedSizes":
        """With twice as many tokens of a target."""
        return FixedSizes(self.sentences, self.beam, self.source, 2 * self.capacity)


def sizes_for(sentences: int, beam: int, source: int, longest: int) -> FixedSizes:
    """For a batch whose longest source has `source` positions, and whose targets have at most `longest` tokens.

    The capacity is enough for most targets of such sources; the few that are longer go on in larger buffers.
    """
    likely = min(longest, int(LIKELY * source) + MARGIN)
    capacity = doubled(likely, LEAST_CAPACITY)
    held = next(size for size in SENTENCES if size >= sentences)
    return FixedSizes(held, beam, doubled(source, LEAST_SOURCE), capacity)
