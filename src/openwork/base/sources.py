"""What a model reads of a source: ids of pieces, or rows of numbers such as the pixels of a picture's patches.

`SourceEncoder` is the one interface to what makes either of a line: a tokenizer makes ids of a text,
`signals/patches.py` and `signals/mel.py` numbers of the picture or the sound whose path the line is.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

DTYPES = ("|u1", "<f4")  # of numbers that are kept: bytes, or float32


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a source (position, features) are kept, and what a model reads of them.

    They are kept as `dtype`; a model reads number * scale + shift in float32. `scale` and `shift` have one number for
    each of equal groups of features, such as the channels of a picture.
    """

    features: int
    dtype: str
    scale: tuple[float, ...] = (1.0,)
    shift: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        """ValueError for a form that no numbers have."""
        groups = len(self.scale)
        if self.dtype not in DTYPES or groups != len(self.shift) or not groups or self.features % groups:
            raise ValueError(f"no form of numbers: {self}")

    def read(self, numbers: Any) -> Any:
        """What a model reads (..., features), in float32, of kept numbers."""
        import numpy as np  # here, since help and most commands need none

        scale, shift = (
            np.repeat(np.array(one, np.float32), self.features // len(one)) for one in (self.scale, self.shift)
        )
        return numbers.astype(np.float32) * scale + shift


class SourceEncoder(ABC):
    """Makes what a model reads of sources, each a line of text or the path of a file.

    `numbers`: the form of numbers (position, features); None where sources become ids (position). `at_once`: how many
    sources are encoded together, so that memory stays bounded.
    """

    fingerprint: str  # sixteen hexadecimal digits that tell this way to read a source from all others
    numbers: NumberForm | None = None
    at_once: int = 4096

    @property
    @abstractmethod
    def size(self) -> int:
        """Pieces of the vocabulary, or the features of a position: what a model's first matrix depends on."""

    def opened(self, source: str) -> Any:
        """What `encode_batch` also takes for this source, with its file read: for a source that it encodes often."""
        return source

    @abstractmethod
    def encode_batch(self, sources: Sequence[str], /) -> list[Any]:
        """The ids of each source, without start or end; or its numbers as they are kept, an array of numpy."""
