"""Handwritten digits as pictures: the 1,797 of 8 x 8 pixels that scikit-learn ships, one file each.

They are the test set of "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, UCI repository). A pair
is the path of a picture and its class. The files are written into the user's cache at the first use.
"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from openwork.base.cache import need_cache
from openwork.base.errors import DataError
from openwork.base.folders import atomic_folder
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, check_split, find_folder
from openwork.data.records import Pair

NAME, SIDE, WHITE = "digits", 8, 16  # pixels of a side; the brightest of scikit-learn's numbers
SIZES = (1_222, 182, 393)
SHARES = "v" + "t" * 2 + "l" * 7  # of each ten digits: validation, test, learning
SPLITS = {"v": "valid", "t": "test", "l": "train"}
MARK = "terms.txt"  # is written last, so it is there when all pictures are
TERMS = msg("Optical Recognition of Handwritten Digits (Alpaydin and Kaynak 1998; CC BY 4.0), as scikit-learn has it")


def read(split: str, folder: Path | None) -> Iterator[Pair]:
    """Each picture's path and class, class by class."""
    check_split(split)
    for file in sorted((_home(folder) / split).glob("*/*.pgm")):
        yield Pair(str(file), file.parent.name)


def found(folder: Path | None) -> str:
    return find_folder(NAME, [MARK], folder)


def _fetch(folder: Path | None) -> None:
    _home(folder)


def _home(folder: Path | None) -> Path:
    """The folder of the pictures, which is written where there is none."""
    if known := found(folder):
        return Path(known)
    home = need_cache(NAME)
    pictures = _load()
    with atomic_folder(home, [MARK]) as partial:
        for number, (content, label) in enumerate(pictures):
            share = SHARES[int.from_bytes(blake2b(content, digest_size=8).digest()) % len(SHARES)]
            place = partial / SPLITS[share] / str(label)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number:04}.pgm").write_bytes(content)
        (partial / MARK).write_text(f"{TERMS}\n", encoding="utf-8")
    return home


def _load() -> Iterator[tuple[bytes, int]]:
    """Each digit as a file in the format PGM, white on black, and its class."""
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
        yield f"P5\n{SIDE} {SIDE}\n255\n".encode() + pixels.tobytes(), label


CORPORA = {
    NAME: NamedCorpus(
        TERMS,
        "scikit-learn (sklearn.datasets.load_digits)",
        read,
        pairs=SIZES,
        found=found,
        fetch=lambda folder, progress: _fetch(folder),
    )
}
