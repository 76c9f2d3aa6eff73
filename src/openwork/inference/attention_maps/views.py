"""What a text attends to where its source is no text: the patches of a picture, or a sound's spectrogram."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from openwork.inference.attention_maps.maps import packed
from openwork.inspection.patches_view import picture_for_page


@dataclass(frozen=True, eq=False)
class SoundView:
    """The spectrogram (band, row of 10 ms) as the model reads it, scaled to 0..1; the lowest band comes first.

    A position of the encoder lasts `seconds`; the sound has `positions` of them.
    """

    spectrogram: Float[np.ndarray, "band row"]
    positions: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        view = {"spectrogram": packed(self.spectrogram), "positions": self.positions, "seconds": self.seconds}
        return {"sound": view}


@dataclass(frozen=True, eq=False)
class PictureView:
    """The pixels as the model reads them, cut into so many rows and columns of patches, its first positions."""

    pixels: UInt8[np.ndarray, "height width channel"]
    rows: int
    columns: int

    @property
    def positions(self) -> int:
        return self.rows * self.columns

    def to_json(self) -> dict[str, Any]:
        return {"picture": {**picture_for_page(self.pixels), "rows": self.rows, "columns": self.columns}}


View = SoundView | PictureView
