"""The built-in corpora `scenes` and `scenes-new-pairs`: pictures of coloured shapes, and a sentence for each.

A picture has 32 x 32 pixels and one or two shapes, which have a size, a colour, a form, and a place beside or above
each other. Every whole sentence is in one split, by its hash. Eight of the 48 pairs of colour and form are in none:
`scenes-new-pairs` has the same pictures to train and to validate with, and tests with these, where a model must compose
what it knows. The files are written into the user's cache at the first use.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from openwork.data.corpora.corpus import split_of
from openwork.data.corpora.drawings import COLOURS, FORMS, HELD_OUT, DrawnCorpus, Pixels, background, covered, shade

NAME, PAIRS, SIDE, CELL = "scenes", "new-pairs", 32, 16  # pixels of a picture's side, and of that of a shape's place
SIZES = {"train": 8_000, "valid": 500, "test": 1_000, PAIRS: 1_000}
RADII = {"small": 4, "large": 7}
RELATIONS = {"left of": (0, 1), "above": (1, 0)}  # of the first shape to the second: rows and columns between them


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


def picture(scene: Scene, random: Random) -> Pixels:
    """The scene (height, width, channels) at places and in shades that are drawn at random."""
    noise = np.random.default_rng(random.getrandbits(64))
    pixels = background(SIDE, SIDE, noise)
    down, right = RELATIONS.get(scene.relation, (0, 0))
    row, column = random.randrange(2 - down), random.randrange(2 - right)
    for number, shape in enumerate(scene.shapes):
        radius = RADII[shape.size]
        room = CELL // 2 - radius - 1
        corner = (row + number * down) * CELL, (column + number * right) * CELL
        centre = tuple(place + CELL // 2 + random.randint(-room, room) for place in corner)
        colour = shade(shape.colour, noise)
        inside = covered(shape.form, radius, (centre[0], centre[1]), SIDE)
        pixels[inside] = colour + noise.integers(-10, 11, (int(inside.sum()), 3))
    return pixels.clip(0, 255).astype(np.uint8)


def scenes(split: str) -> Iterator[tuple[Scene, Pixels]]:
    """Endless scenes of a split with their pictures, always the same."""
    random = Random(f"{NAME} {split}")
    while True:
        scene = draw_scene(random)
        if scene.split == split:
            yield scene, picture(scene, random)


SCENES = DrawnCorpus(
    NAME, ("text",), SIZES, lambda split: (((scene.words,), pixels) for scene, pixels in scenes(split))
)
CORPORA = {NAME: SCENES.corpus(), f"{NAME}-{PAIRS}": SCENES.corpus(PAIRS)}
