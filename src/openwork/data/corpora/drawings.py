"""Pictures of coloured shapes: what can be drawn, and corpora that are drawn once into the user's cache."""

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openwork.data.corpora.corpus import NamedCorpus, find_folder
from openwork.data.corpora.download import Progress
from openwork.data.corpora.picture_folders import MARK, written_once
from openwork.data.readers.file_lists import PICTURES, read_list
from openwork.data.records import Pair

COLOURS = {
    "red": (215, 40, 40), "green": (40, 190, 60), "blue": (60, 80, 225), "yellow": (230, 220, 50),
    "white": (230, 230, 230), "purple": (160, 45, 190), "cyan": (45, 205, 210), "orange": (230, 130, 25),
}  # fmt: skip
FORMS = ("circle", "square", "triangle", "cross", "ring", "bar")
HELD_OUT = {
    ("red", "triangle"), ("green", "circle"), ("blue", "cross"), ("yellow", "square"),
    ("white", "ring"), ("purple", "bar"), ("cyan", "triangle"), ("orange", "circle"),
}  # fmt: skip
"""Pairs of colour and form that are kept for pictures to test with."""
TERMS = "generated"
Pixels = NDArray[np.uint8]


def covered(form: str, radius: int, centre: tuple[int, int], side: int) -> NDArray[np.bool_]:
    """Which pixels (row, column) of a square picture a form covers."""
    down, right = np.mgrid[:side, :side]
    y, x = down - centre[0], right - centre[1]
    thick = max(1, radius // 3)
    match form:
        case "circle":
            return x**2 + y**2 <= radius**2
        case "square":
            return np.maximum(abs(x), abs(y)) <= round(radius * 0.85)
        case "triangle":
            return (abs(y) <= radius) & (abs(x) <= (y + radius) / 2)
        case "ring":
            return (x**2 + y**2 <= radius**2) & (x**2 + y**2 > (radius - thick - 1) ** 2)
        case "bar":
            return (abs(y) <= thick) & (abs(x) <= radius)
        case _:
            return (np.minimum(abs(x), abs(y)) <= thick) & (np.maximum(abs(x), abs(y)) <= radius)


def background(height: int, width: int, noise: np.random.Generator) -> NDArray[np.float64]:
    """Dark pixels (height, width, channels), each a little different."""
    return noise.integers(0, 40, (height, width, 3)).astype(np.float64)


def shade(colour: str, noise: np.random.Generator) -> NDArray[np.int64]:
    """A colour (channels) that is a little off."""
    return np.array(COLOURS[colour]) + noise.integers(-25, 26, 3)


@dataclass(frozen=True)
class DrawnCorpus:
    """Pictures with a table of their texts for each split, written at the first use.

    `columns`: of the table, behind the file. `sizes`: pictures of each split. `draw`: endless texts of these columns
    and pixels (height, width, channels) of a split, always the same.
    """

    name: str
    columns: tuple[str, ...]
    sizes: Mapping[str, int]
    draw: Callable[[str], Iterator[tuple[tuple[str, ...], Pixels]]]

    def corpus(self, test: str = "test") -> NamedCorpus:
        """The corpus whose split to test with is `test`."""
        return NamedCorpus(
            TERMS,
            "built in",
            self.read,
            pairs=(self.sizes["train"], self.sizes["valid"], self.sizes[test]),
            names=("train", "valid", test),
            found=self.found,
            fetch=self._fetch,
        )

    def read(self, split: str, folder: Path | None) -> Iterator[Pair]:
        """Each picture's path, with its question if there is one, and text."""
        for pair in read_list(self._home(folder) / f"{split}.csv", PICTURES):
            assert isinstance(pair, Pair), "nothing is passed over in a table"
            yield pair

    def found(self, folder: Path | None) -> str:
        return find_folder(self.name, [MARK], folder)

    def _fetch(self, folder: Path | None, progress: Progress) -> None:
        self._home(folder)

    def _home(self, folder: Path | None) -> Path:
        """The folder of the pictures, which is written where there is none."""
        return written_once(self.name, TERMS, folder, self._write)

    def _write(self, folder: Path) -> None:
        for split in self.sizes:
            self._write_split(folder, split)

    def _write_split(self, folder: Path, split: str) -> None:
        """The pictures of a split, as PPM files, and their table."""
        (folder / split).mkdir()
        table = StringIO()
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(("file", *self.columns))
        for number, (texts, pixels) in enumerate(islice(self.draw(split), self.sizes[split])):
            name = f"{split}/{number:04}.ppm"
            height, width, _ = pixels.shape
            (folder / name).write_bytes(f"P6\n{width} {height}\n255\n".encode() + pixels.tobytes())
            rows.writerow((name, *texts))
        (folder / f"{split}.csv").write_text(table.getvalue(), encoding="utf-8")
