"""Reading untrusted pictures: known formats, bounded sizes, and an error that names the file.

Pillow (the extra `vision`) decodes, from these formats alone, and after the size of the picture is known and bounded.
"""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError, OpenworkError, UsageError
from openwork.base.messages import msg
from openwork.signals.content import read_content
from openwork.signals.settings import PictureSettings

FORMATS = {  # Pillow's names, with the usual endings of files
    "PNG": (".png",),
    "JPEG": (".jpg", ".jpeg"),
    "BMP": (".bmp",),
    "PPM": (".pgm", ".ppm"),
    "GIF": (".gif",),  # of several pictures the first
    "WEBP": (".webp",),
}
ENDINGS = tuple(ending for endings in FORMATS.values() for ending in endings)
KIND = msg("picture file")
MOST_PIXELS = 64_000_000  # of a picture before it is resized
MODES = {1: "L", 3: "RGB"}  # Pillow's name for so many channels
DEEP = ("I", "F")  # how the names of its modes of more than 8 bits begin

Pixels = NDArray[np.uint8]
Picture = str | Pixels
"""The path of a picture, or its pixels (height, width) or (height, width, 3)."""


def read_picture(source: Picture, settings: PictureSettings) -> Pixels:
    """The pixels (height, width, channels) of a picture in the size and the colours of the settings.

    DataError for a file that is missing, too large, damaged or of another format; UsageError for pixels of another
    form, and where Pillow is not installed.
    """
    pillow = _pillow()
    is_path = isinstance(source, str)
    picture = _decoded(Path(source), pillow) if is_path else pillow.Image.fromarray(_checked(source))
    size = settings.width, settings.height
    picture = picture.convert(MODES[settings.channels])
    if picture.size != size:
        picture = picture.resize(size, pillow.Image.Resampling.BILINEAR)
    return np.asarray(picture, np.uint8).reshape(settings.height, settings.width, settings.channels)


def png_of(pixels: Pixels) -> bytes:
    """A PNG file of pixels (height, width, channels) as `read_picture` gives them."""
    file = io.BytesIO()
    picture = pixels[:, :, 0] if pixels.shape[2] == 1 else pixels
    _pillow().Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def _pillow() -> Any:
    try:
        import PIL
        from PIL import Image, ImageOps  # noqa: F401  # both are attributes of the package from here on
    except ImportError as error:
        raise UsageError(
            "pictures need the package Pillow, which is not installed",
            hint="pip install pillow (the extra vision)",
            code="U112",
        ) from error
    return PIL


def _decoded(path: Path, pillow: Any) -> Any:
    """The picture in a file, upright."""
    data = read_content(path, KIND)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd files that can be read, and of large ones, which are refused here
            with pillow.Image.open(io.BytesIO(data), formats=tuple(FORMATS)) as opened:
                if opened.size[0] * opened.size[1] > MOST_PIXELS:
                    raise pillow.Image.DecompressionBombError
                if opened.mode.startswith(DEEP):
                    raise DataError(
                        f"{path}: the picture has more than 8 bits a channel (mode {opened.mode})",
                        why="which of its brightnesses are black and white is not known",
                        hint="save it with 8 bits a channel",
                        code="D143",
                    )
                opened.load()
                return pillow.ImageOps.exif_transpose(opened)
    except OpenworkError:
        raise
    except pillow.Image.DecompressionBombError as error:  # ours, or Pillow's for many more
        raise DataError(
            f"{path}: the picture has more than {MOST_PIXELS:,} pixels",
            why="no more are decoded, so that a small file cannot fill the memory",
            hint="save the picture in a smaller size; a model reads it in that of [picture]",
            code="D142",
        ) from error
    except Exception as error:  # decoders raise errors of many kinds where a file is damaged
        is_other = isinstance(error, pillow.UnidentifiedImageError)
        raise DataError(
            f"{path}: not a picture that can be read, or damaged",
            why="its content is of no known format" if is_other else str(error),
            hint=f"formats are {', '.join(FORMATS)}; open the file in a viewer and save it again, or remove it",
            code="D141",
        ) from error


def _checked(pixels: Any) -> Pixels:
    shape = getattr(pixels, "shape", ())
    fits = len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or not fits or 0 in shape:
        raise UsageError(
            f"pixels of the type {getattr(pixels, 'dtype', type(pixels).__name__)} and shape {shape} are no picture",
            why="a picture is an array of uint8 (height, width) or (height, width, 3), or the path of a file",
            hint="convert it, such as (255 * pixels).astype(numpy.uint8)",
            code="U113",
        )
    return pixels
