"""The built-in corpus `moving-shapes`: short films of one shape, and a question about each.

A film has four frames of 16 x 16 pixels, one below the other in a picture, in which a shape of a colour and a form
stays or moves. The question names one or two of colour, form and motion, and the answer says them in that order:
"motion colour" is answered with "left red". The pairs of colour and form that `scenes` holds out are in the films to
test with alone.
"""

from collections.abc import Iterator
from itertools import permutations
from random import Random
from typing import NamedTuple

import numpy as np

from openwork.data.corpora.drawings import COLOURS, FORMS, HELD_OUT, DrawnCorpus, Pixels, background, covered, shade

NAME, SIDE, FRAMES, RADIUS, STEP = "moving-shapes", 16, 4, 3, 2  # pixels of a frame's side, a shape's, and of a move
SIZES = {"train": 8_000, "valid": 500, "test": 1_000}
MOTIONS = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0), "still": (0, 0)}  # rows and columns a frame
ATTRIBUTES = ("colour", "form", "motion")
QUESTIONS = [*((one,) for one in ATTRIBUTES), *permutations(ATTRIBUTES, 2)]


class Film(NamedTuple):
    """What moves, and how."""

    colour: str
    form: str
    motion: str

    @property
    def is_held_out(self) -> bool:
        return (self.colour, self.form) in HELD_OUT

    def answer(self, question: tuple[str, ...]) -> str:
        return " ".join(getattr(self, attribute) for attribute in question)


def strip(film: Film, random: Random) -> Pixels:
    """The frames one below the other (FRAMES * SIDE, SIDE, channels), the shape wholly in each."""
    noise = np.random.default_rng(random.getrandbits(64))
    pixels, colour = background(FRAMES * SIDE, SIDE, noise), shade(film.colour, noise)
    down, right = MOTIONS[film.motion]
    way = (FRAMES - 1) * STEP
    row, column = (
        random.randint(RADIUS + (way if move < 0 else 0), SIDE - 1 - RADIUS - (way if move > 0 else 0))
        for move in (down, right)
    )
    for frame in range(FRAMES):
        centre = row + frame * STEP * down, column + frame * STEP * right
        inside = covered(film.form, RADIUS, centre, SIDE)
        pixels[frame * SIDE : (frame + 1) * SIDE][inside] = colour
    return pixels.clip(0, 255).astype(np.uint8)


def films(split: str) -> Iterator[tuple[Film, tuple[str, ...], Pixels]]:
    """Endless films of a split with a question each, always the same."""
    random = Random(f"{NAME} {split}")
    while True:
        film = Film(random.choice(list(COLOURS)), random.choice(FORMS), random.choice(list(MOTIONS)))
        if film.is_held_out == (split == "test"):
            yield film, random.choice(QUESTIONS), strip(film, random)


def _drawn(split: str) -> Iterator[tuple[tuple[str, ...], Pixels]]:
    return (((" ".join(question), film.answer(question)), pixels) for film, question, pixels in films(split))


CORPORA = {NAME: DrawnCorpus(NAME, ("question", "text"), SIZES, _drawn).corpus()}
