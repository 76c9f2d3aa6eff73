"""Handwritten digits as pictures: the 1,797 of 8 x 8 pixels that scikit-learn ships, one file each.

They are the test set of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, UCI repository). A pair
of `digits` is the path of a picture and its class. The files are written into the user's cache at the first use.

`digit-codes` has the same digits the other way round, as DALL-E writes pictures (Ramesh et al. 2021): the digit's word,
and its picture as 16 codes, one for each patch of 2 x 2 pixels. A code is what a language model can write: the four
levels of the pixels, from a to d, row by row.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus
from openwork.data.corpora.picture_folders import ClassPicture, PictureFolders, grey_file
from openwork.data.corpora.spoken_digits import WORDS
from openwork.data.records import Pair
from openwork.signals.patches import cut

NAME, CODES, SIDE, WHITE = "digits", "digit-codes", 8, 16  # pixels of a side; the brightest of scikit-learn's numbers
SIZES = (1_222, 182, 393)
SHARES = "v" + "t" * 2 + "l" * 7  # of each ten digits: validation, test, learning
SPLITS = {"v": "valid", "t": "test", "l": "train"}
PATCH, LEVELS = 2, "abcd"  # pixels of a code's side, and the letters of their levels, from dark to bright
TERMS = msg("Optical Recognition of Handwritten Digits (Alpaydin and Kaynak 1998; CC BY 4.0), as scikit-learn has it")


def codes_of(pixels: NDArray[np.uint8]) -> list[str]:
    """The 16 codes of a picture (8, 8) of bytes, row by row."""
    levels = (pixels.astype(np.int64) * len(LEVELS) // 256).astype(np.uint8)
    return ["".join(LEVELS[level] for level in patch) for patch in cut(levels[:, :, None], PATCH)]


def pixels_of(codes: Sequence[str]) -> NDArray[np.uint8]:
    """The picture (8, 8) of these codes, in the middle of each level. ValueError for what is no picture's codes."""
    known = [code for code in codes if len(code) == PATCH**2 and set(code) <= set(LEVELS)]
    across = SIDE // PATCH
    if len(known) != len(codes) or len(codes) != across**2:
        raise ValueError(f"{len(codes)} codes, {len(known)} of them of {PATCH} x {PATCH} pixels")
    levels = np.array([list(map(LEVELS.index, code)) for code in codes]).reshape(across, across, PATCH, PATCH)
    step = 256 // len(LEVELS)
    return (levels.transpose(0, 2, 1, 3).reshape(SIDE, SIDE) * step + step // 2).astype(np.uint8)


def read_codes(split: str, folder: Path | None) -> Iterator[Pair]:
    """The word and the codes of each digit, with spaces between; the classes take turns."""
    pairs = sorted(DIGITS.read(split, folder), key=lambda pair: Path(pair.source).stem)
    for pair in pairs:
        pixels = np.frombuffer(Path(pair.source).read_bytes()[-SIDE * SIDE :], np.uint8).reshape(SIDE, SIDE)
        yield Pair(WORDS[int(pair.target)], " ".join(codes_of(pixels)))


def _pictures(folder: Path | None) -> Iterator[ClassPicture]:
    """Each digit, in the split that its file's content gives."""
    try:
        from sklearn.datasets import load_digits  # type: ignore[import-not-found]
    except ImportError as error:
        raise DataError(
            "the corpus digits is in the package scikit-learn, which is not installed",
            hint="pip install scikit-learn (the extra tasks)",
            code="D151",
        ) from error
    digits: Any = load_digits()
    for picture, label in zip(digits.images, digits.target.tolist(), strict=True):
        pixels = (picture * 255 / WHITE).round().astype("uint8")
        share = SHARES[int.from_bytes(blake2b(grey_file(pixels), digest_size=8).digest()) % len(SHARES)]
        yield ClassPicture(SPLITS[share], str(label), pixels)


DIGITS = PictureFolders(NAME, TERMS, _pictures)
ORIGIN = "scikit-learn (sklearn.datasets.load_digits)"
CORPORA = {
    NAME: DIGITS.corpus(ORIGIN, SIZES),
    CODES: NamedCorpus(
        TERMS,
        ORIGIN,
        read_codes,
        pairs=SIZES,
        found=DIGITS.found,
        fetch=DIGITS.fetch,
    ),
}
