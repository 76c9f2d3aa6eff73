"""Pictures as sources: a row of numbers for each patch (Dosovitskiy et al. 2021, section 3.1)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from openwork.base.config import fingerprint
from openwork.base.sources import SourceEncoder
from openwork.signals.pictures import Picture, Pixels, read_picture
from openwork.signals.questions import form_with, parted, with_question
from openwork.signals.settings import PictureSettings


def cut(pixels: Pixels, patch: int) -> NDArray[np.uint8]:
    """The patches (patch, features) of a picture (height, width, channels), row by row from the top left.

    A patch has its pixels of the first channel, row by row, then those of the next: as a convolution's weights lie.
    """
    height, width, channels = pixels.shape
    squares = pixels.reshape(height // patch, patch, width // patch, patch, channels)
    return squares.transpose(0, 2, 4, 1, 3).reshape(-1, channels * patch * patch)


def moved(pixels: Pixels, shift: tuple[int, int]) -> Pixels:
    """The picture (height, width, channels) moved down and to the right; pixels at the edge fill what is left open."""
    height, width, _ = pixels.shape
    rows, columns = (
        np.clip(np.arange(size) - by, 0, size - 1) for size, by in zip((height, width), shift, strict=True)
    )
    return pixels[rows][:, columns]


class PicturePatches(SourceEncoder):
    """Reads pictures, each a path or an array of pixels, as the settings say; with a question where they have words."""

    kind = "pictures"
    at_once = 64

    def __init__(self, settings: PictureSettings) -> None:
        self.settings = settings
        self.numbers = self._form = form_with(settings.form, settings.words)
        self.fingerprint = fingerprint(settings)

    @property
    def size(self) -> int:
        return self._form.features

    def encode_batch(
        self,
        sources: Sequence[Picture | tuple[Picture, str]],
        shift: tuple[int, int] = (0, 0),
        is_mirrored: bool = False,
    ) -> list[NDArray[np.uint8]]:
        """The patches (patch, features) of each picture in bytes. DataError names one that cannot be read.

        `shift`: pixels that it is moved down and to the right; `is_mirrored`: then left and right change places.
        """
        settings = self.settings
        found = []
        for picture, words in (parted(source, settings.words) for source in sources):
            pixels = moved(read_picture(picture, settings), shift)
            seen = pixels[:, ::-1] if is_mirrored else pixels
            found.append(with_question(cut(seen, settings.patch), words, settings.words))
        return found
