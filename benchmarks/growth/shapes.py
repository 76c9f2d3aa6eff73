"""What is measured: one shape, and each of its sizes varied alone."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from openwork.models.settings import TransformerSettings

HEAD_WIDTH = 64


@dataclass(frozen=True)
class Shape:
    """A model with `layers` layers a side, and a batch of sentence pairs that are all of one length on both sides."""

    length: int = 32
    sentences: int = 128
    width: int = 256
    vocabulary: int = 8000
    layers: int = 3

    @property
    def tokens(self) -> int:
        """Of each side."""
        return self.length * self.sentences

    @property
    def settings(self) -> TransformerSettings:
        return TransformerSettings(
            width=self.width, feedforward_width=4 * self.width, heads=max(1, self.width // HEAD_WIDTH),
            encoder_layers=self.layers, decoder_layers=self.layers, norm="pre", dropout=0.2,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


BASE = Shape()
TOKENS = BASE.tokens
LENGTHS = tuple(8 * 2**n for n in range(10))  # to 4,096
TRAINING: dict[str, tuple[Shape, ...]] = {
    # as many tokens in longer and longer sentences
    "length": tuple(replace(BASE, length=n, sentences=TOKENS // n) for n in LENGTHS),
    "batch": tuple(replace(BASE, sentences=n) for n in (1, 2, 4, 8, 16, 32, 64, 128, 256)),
    "width": tuple(replace(BASE, width=n, sentences=64) for n in (64, 128, 192, 256, 384, 512, 768, 1024)),
    "vocabulary": tuple(replace(BASE, vocabulary=n) for n in (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000)),
}  # fmt: skip
ONE = replace(BASE, sentences=16)
TRANSLATING: dict[str, tuple[Shape, ...]] = {
    "length": tuple(replace(BASE, length=n, sentences=1) for n in LENGTHS),
    "batch": tuple(replace(BASE, sentences=n) for n in (1, 4, 16, 64, 256)),
    "width": tuple(replace(ONE, width=n) for n in (64, 128, 256, 512, 1024)),
    "vocabulary": tuple(replace(ONE, vocabulary=n) for n in (1000, 8000, 16_000, 32_000, 64_000)),
}
CACHING = tuple(replace(BASE, length=n, sentences=rows) for rows in (1, 32) for n in (1, 2, 4, 8, 16, 32, 64, 128))
