"""The built-in corpora `scenes` and `scenes-new-pairs`: pictures of coloured shapes, and a sentence for each.

A picture has 32 x 32 pixels and one or two shapes, which have a size, a colour, a form, and a place beside or above
each other. Every whole sentence is in one split, by its hash. Eight of the 48 pairs of colour and form are in none:
`scenes-new-pairs` has the same pictures to train and to validate with, and tests with these, where a model must compose
what it knows. The files are written into the user's cache at the first use.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from openwork.base.cache import need_cache
from openwork.base.folders import atomic_folder
from openwork.base.messages import msg
from openwork.data.corpora.corpus import NamedCorpus, find_folder, split_of
from openwork.data.readers.file_lists import PICTURES, read_list
from openwork.data.records import Pair

NAME, PAIRS, SIDE, CELL = "scenes", "new-pairs", 32, 16  # pixels of a picture's side, and of that of a shape's place
SIZES = {"train": 8_000, "valid": 500, "test": 1_000, PAIRS: 1_000}
COLOURS = {
    "red": (215, 40, 40), "green": (40, 190, 60), "blue": (60, 80, 225), "yellow": (230, 220, 50),
    "white": (230, 230, 230), "purple": (160, 45, 190), "cyan": (45, 205, 210), "orange": (230, 130, 25),
}  # fmt: skip
FORMS = ("circle", "square", "triangle", "cross", "ring", "bar")
HELD_OUT = {
    ("red", "triangle"), ("green", "circle"), ("blue", "cross"), ("yellow", "square"),
    ("white", "ring"), ("purple", "bar"), ("cyan", "triangle"), ("orange", "circle"),
}  # fmt: skip
RADII = {"small": 4, "large": 7}
RELATIONS = {"left of": (0, 1), "above": (1, 0)}  # of the first shape to the second: rows and columns between them
MARK = "terms.txt"  # is written last, so it is there when all pictures are
TERMS = msg("generated")
Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Shape:
    """What is drawn at one place of a picture."""

    size: str
    colour: str
    form: str

    @property
    def words(self) -> str:
        return f"a {self.size} {self.colour} {self.form}"

    @property
    def is_held_out(self) -> bool:
        return (self.colour, self.form) in HELD_OUT


@dataclass(frozen=True)
class Scene:
    """One shape, or two and how the first lies to the second."""

    shapes: tuple[Shape, ...]
    relation: str = ""

    @property
    def words(self) -> str:
        return f" {self.relation} ".join(shape.words for shape in self.shapes)

    @property
    def split(self) -> str:
        """Train, valid or test, or PAIRS where a pair of colour and form is held out."""
        return PAIRS if any(shape.is_held_out for shape in self.shapes) else split_of(self.words)


def draw_scene(random: Random) -> Scene:
    """A scene of one shape, or, five times as often, of two."""
    count = 1 if random.random() < 1 / 6 else 2
    shapes = tuple(
        Shape(random.choice(list(RADII)), random.choice(list(COLOURS)), random.choice(FORMS)) for _ in range(count)
    )
    return Scene(shapes, random.choice(list(RELATIONS)) if count == 2 else "")


def covered(form: str, radius: int, centre: tuple[int, int]) -> NDArray[np.bool_]:
    """Which pixels (row, column) of a picture a form covers."""
    down, right = np.mgrid[:SIDE, :SIDE]
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


def picture(scene: Scene, random: Random) -> Pixels:
    """The scene (height, width, channels) at places and in shades that are drawn at random."""
    noise = np.random.default_rng(random.getrandbits(64))
    pixels = noise.integers(0, 40, (SIDE, SIDE, 3)).astype(np.float64)
    down, right = RELATIONS.get(scene.relation, (0, 0))
    row, column = random.randrange(2 - down), random.randrange(2 - right)
    for number, shape in enumerate(scene.shapes):
        radius = RADII[shape.size]
        room = CELL // 2 - radius - 1
        corner = (row + number * down) * CELL, (column + number * right) * CELL
        centre = tuple(place + CELL // 2 + random.randint(-room, room) for place in corner)
        shade = np.array(COLOURS[shape.colour]) + noise.integers(-25, 26, 3)
        inside = covered(shape.form, radius, (centre[0], centre[1]))
        pixels[inside] = shade + noise.integers(-10, 11, (int(inside.sum()), 3))
    return pixels.clip(0, 255).astype(np.uint8)


def scenes(split: str) -> Iterator[tuple[Scene, Pixels]]:
    """Endless scenes of a split with their pictures, always the same."""
    random = Random(f"{NAME} {split}")
    while True:
        scene = draw_scene(random)
        if scene.split == split:
            yield scene, picture(scene, random)


def read(split: str, folder: Path | None) -> Iterator[Pair]:
    """Each picture's path and sentence."""
    for pair in read_list(_home(folder) / f"{split}.csv", PICTURES):
        assert isinstance(pair, Pair), "nothing is passed over in a table"
        yield pair


def found(folder: Path | None) -> str:
    return find_folder(NAME, [MARK], folder)


def _fetch(folder: Path | None) -> None:
    _home(folder)


def _home(folder: Path | None) -> Path:
    """The folder of the pictures, which is written where there is none."""
    if known := found(folder):
        return Path(known)
    home = need_cache(NAME)
    with atomic_folder(home, [MARK]) as partial:
        for split, count in SIZES.items():
            (partial / split).mkdir()
            table = StringIO()
            rows = csv.writer(table, lineterminator="\n")
            rows.writerow(("file", "text"))
            for number, (scene, pixels) in enumerate(islice(scenes(split), count)):
                name = f"{split}/{number:04}.ppm"
                (partial / name).write_bytes(f"P6\n{SIDE} {SIDE}\n255\n".encode() + pixels.tobytes())
                rows.writerow((name, scene.words))
            (partial / f"{split}.csv").write_text(table.getvalue(), encoding="utf-8")
        (partial / MARK).write_text(f"{TERMS}\n", encoding="utf-8")
    return home


def _corpus(test: str) -> NamedCorpus:
    return NamedCorpus(
        TERMS,
        "built in",
        read,
        pairs=(SIZES["train"], SIZES["valid"], SIZES[test]),
        names=("train", "valid", test),
        found=found,
        fetch=lambda folder, progress: _fetch(folder),
    )


CORPORA = {NAME: _corpus("test"), f"{NAME}-{PAIRS}": _corpus(PAIRS)}
