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
    """The patches (..., patch, features) of pictures (..., height, width, channels), row by row from the top left.

    A patch has its pixels of the first channel, row by row, then those of the next: as a convolution's weights lie.
    """
    *pictures, height, width, channels = pixels.shape
    squares = pixels.reshape(-1, height // patch, patch, width // patch, patch, channels)
    return squares.transpose(0, 1, 3, 5, 2, 4).reshape(*pictures, -1, channels * patch * patch)


def moved(pixels: Pixels, shift: tuple[int, int]) -> Pixels:
    """Pictures (..., height, width, channels) moved down and to the right; those at the edge fill what is left open."""
    rows, columns = (
        np.clip(np.arange(size) - by, 0, size - 1) for size, by in zip(pixels.shape[-3:-1], shift, strict=True)
    )
    return pixels[..., rows, :, :][..., columns, :]


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

    def opened(self, source: str) -> tuple[Pixels, str]:
        """The pixels in a picture's file as the settings want them, and the question about it."""
        path, _, question = source.partition("\t")
        pixels = read_picture(path, self.settings)
        return (pixels[..., 0] if self.settings.channels == 1 else pixels), question

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
        asked = [parted(source, settings.words) for source in sources]
        if not asked:
            return []
        pixels = moved(np.stack([read_picture(picture, settings) for picture, _ in asked]), shift)
        patches = cut(pixels[:, :, ::-1] if is_mirrored else pixels, settings.patch)
        return [with_question(rows, words, settings.words) for rows, (_, words) in zip(patches, asked, strict=True)]
