"""Fashion-MNIST: 70,000 grey pictures of 28 x 28 pixels, each of one of ten kinds of clothes (Xiao et al. 2017).

The set's own files are read where Debian's package puts them, or from a folder of the user's. Every twelfth picture to
learn from, by a hash of its pixels, chooses the weights instead. The pictures are written into the user's cache, one
file each, at the first use.
"""

import zlib
from collections.abc import Iterator
from gzip import GzipFile
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.data.corpora.corpus import find_file, need_file
from openwork.data.corpora.picture_folders import ClassPicture, PictureFolders

NAME, SIDE = "fashion-mnist", 28
SIZES = (55_016, 4_984, 10_000)
KINDS = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
PARTS = {"train": ("train", 60_000), "test": ("t10k", 10_000)}  # the names of their files begin so; pictures
DEBIAN = Path("/usr/share/datasets")
TERMS = msg("Fashion-MNIST (Xiao et al. 2017; MIT licence)")
ORIGIN = msg("the Debian package dataset-fashion-mnist")


def read_numbers(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The bytes of a compressed file in the format IDX that must have this shape; no more than that is unpacked."""
    header = bytes((0, 0, 8, len(shape))) + np.array(shape, ">i4").tobytes()
    try:
        with path.open("rb") as file, GzipFile(fileobj=file) as content:
            read = content.read(len(header) + int(np.prod(shape)) + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged(path, str(error)) from error
    numbers = np.frombuffer(read, np.uint8)
    if not read.startswith(header) or len(numbers) != len(header) + np.prod(shape):
        raise _damaged(path, msg(f"it does not have {' x '.join(map(str, shape))} numbers of a byte each"))
    return numbers[len(header) :].reshape(shape)


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"{path}: not a file of the corpus fashion-mnist", why=why, hint="remove it, and fetch it again", code="D167"
    )


def _file(name: str, folder: Path | None) -> Path:
    if found := find_file(NAME, name, folder) or find_file(NAME, name, DEBIAN):
        return found
    return need_file(
        NAME,
        name,
        folder,
        why=msg("the pictures are in no Python package, and nothing is fetched unasked"),
        hint=msg("apt install dataset-fashion-mnist, or put its files into a folder fashion-mnist of OPENWORK_DATA"),
    )


def _pictures(folder: Path | None) -> Iterator[ClassPicture]:
    for split, (name, count) in PARTS.items():
        pixels = read_numbers(_file(f"{name}-images-idx3-ubyte.gz", folder), (count, SIDE, SIDE))
        kinds = read_numbers(_file(f"{name}-labels-idx1-ubyte.gz", folder), (count,))
        for one, kind in zip(pixels, kinds.tolist(), strict=True):
            yield ClassPicture("valid" if split == "train" and _chooses(one) else split, KINDS[kind], one)


def _chooses(pixels: NDArray[np.uint8]) -> bool:
    return int.from_bytes(blake2b(pixels.tobytes(), digest_size=8).digest()) % 12 == 0


CORPORA = {NAME: PictureFolders(NAME, TERMS, _pictures).corpus(ORIGIN, SIZES)}
