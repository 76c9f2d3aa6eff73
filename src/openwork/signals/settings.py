"""The settings of the sections [picture], [sound] and [series] of a run file: how numbers become what a model reads."""

from itertools import product
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import FACTOR, LENGTH
from openwork.base.sources import NumberForm

MOST_PIXELS = 4096  # of a side that pictures are resized to
MOST_SECONDS = 600  # of a sound, which is one source
MOST_BINS = 10_000
MOST_WORDS, MOST_LETTERS = 1_000, 100  # of questions; letters of a word

Channels = Annotated[Literal[1, 3], WithJsonSchema({"type": "integer", "enum": [1, 3], "minimum": 1, "maximum": 3})]
Side = Annotated[int, Field(ge=1, le=MOST_PIXELS)]
QuestionWords = Annotated[
    tuple[Annotated[str, Field(pattern=r"^\S+$", max_length=MOST_LETTERS)], ...] | None,
    Field(min_length=1, max_length=MOST_WORDS),
]
VIT = "Dosovitskiy et al. 2021, section"


class PictureSettings(Settings):
    """How pictures are prepared: resized, cut into patches, and their numbers scaled. A bundle keeps it."""

    height: Side = option(224, "pixels from top to bottom that every picture is resized to", f"{VIT} 4.1")
    width: Side = option(224, "pixels from left to right that every picture is resized to", f"{VIT} 4.1")
    channels: Channels = option(3, "1: grey; 3: red, green and blue", f"{VIT} 3.1")
    patch: Side = option(16, "pixels of a side of the square patches that a picture is cut into", f"{VIT} 3.1")
    mean: tuple[Annotated[float, Field(ge=-FACTOR, le=FACTOR)], ...] = option(
        (0.5,),
        "subtracted from numbers from 0 to 1: one for all channels, or one each",
        "the authors' own vision_transformer",
    )
    deviation: tuple[Annotated[float, Field(gt=0, le=FACTOR)], ...] = option(
        (0.5,), "what the rest is divided by: one for all channels, or one each", "the authors' own vision_transformer"
    )

    shift: Annotated[int, Field(ge=0, le=64)] = option(
        0,
        "training pictures are also moved by so many pixels to each of four sides; epochs take turns",
        "Krizhevsky et al. 2012, section 4.1",
    )
    mirror: bool = option(
        False,
        "training pictures are also mirrored, left and right; epochs take turns",
        "Krizhevsky et al. 2012, section 4.1",
    )
    words: QuestionWords = option(None, "words of the questions that follow the paths, after a tab; none: no questions")

    @property
    def views(self) -> tuple[tuple[tuple[int, int], bool], ...]:
        """How training pictures are seen: moved so far down and to the right, and mirrored or not."""
        by = self.shift
        shifts = ((0, 0), (by, 0), (0, by), (-by, 0), (0, -by)) if by else ((0, 0),)
        return tuple(product(shifts, (False, True) if self.mirror else (False,)))

    @model_validator(mode="after")
    def _parts_fit(self) -> "PictureSettings":
        if self.height % self.patch or self.width % self.patch:
            raise RuleError(
                f"a picture of {self.height} x {self.width} pixels is not cut evenly into patches of {self.patch}",
                hint="take a height and a width that are multiples of picture.patch",
                code="C145",
            )
        for key in ("mean", "deviation"):
            if len(getattr(self, key)) not in (1, self.channels):
                raise RuleError(
                    f"picture.{key} has {len(getattr(self, key))} numbers, and a picture {self.channels} channels",
                    hint="give one number for all channels, or one for each",
                    code="C146",
                )
        return self

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.height // self.patch, self.width // self.patch

    @property
    def patches(self) -> int:
        """Positions of a source."""
        return self.grid[0] * self.grid[1]

    @property
    def form(self) -> NumberForm:
        """A patch has the pixels of one channel after another; a model reads (pixel / 255 - mean) / deviation."""
        mean, deviation = (one * (self.channels // len(one)) for one in (self.mean, self.deviation))
        return NumberForm(
            self.channels * self.patch**2,
            "|u1",
            tuple(1 / 255 / one for one in deviation),
            tuple(-middle / one for middle, one in zip(mean, deviation, strict=True)),
        )


Rate = Annotated[
    Literal[8_000, 16_000, 24_000, 48_000],
    WithJsonSchema({"type": "integer", "enum": [8_000, 16_000, 24_000, 48_000], "minimum": 8_000, "maximum": 48_000}),
]
Speed = Annotated[float, Field(ge=0.5, le=2.0)]
WHISPER = "Radford et al. 2023 (Whisper), section 2.2"


class SoundSettings(Settings):
    """How sounds are prepared: resampled, and made a row of numbers every 10 ms. A bundle keeps it."""

    rate: Rate = option(16_000, "samples a second that every sound is resampled to", WHISPER)
    mels: Annotated[int, Field(ge=1, le=256)] = option(80, "numbers of a row: bands of the mel scale", WHISPER)
    seconds: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = option(30, "the longest sound that is read", WHISPER)
    speeds: tuple[Speed, ...] = option(
        (1.0,), "how fast the training sounds are played; epochs take turns", "Ko et al. 2015, section 2", min_length=1
    )
    words: QuestionWords = option(None, "words of the questions that follow the paths, after a tab; none: no questions")
    centred: bool = option(
        False,
        "the mean of each band where a sound is loud is subtracted, and with it what the microphone adds",
        "Atal 1974",
    )
    padded: bool = option(True, "silence follows a shorter sound, so that all are as long as the longest", WHISPER)

    @property
    def hop(self) -> int:
        """Samples from one row to the next: 10 ms."""
        return self.rate // 100

    @property
    def window(self) -> int:
        """Samples that a row is made of: 25 ms."""
        return self.rate // 40

    @property
    def rows(self) -> int:
        """Rows of the longest sound."""
        return self.seconds * 100

    @property
    def form(self) -> NumberForm:
        """A model reads the numbers as they are."""
        return NumberForm(self.mels, "<f4")


CHRONOS = "Ansari et al. 2024 (Chronos), section 3.1"


class SeriesSettings(Settings):
    """How windows of a series are prepared: scaled by their context, and put into bins. A bundle keeps it."""

    context: Annotated[int, Field(ge=1, le=LENGTH)] = option(48, "values of a window that are known", CHRONOS)
    horizon: Annotated[int, Field(ge=1, le=LENGTH)] = option(12, "values of a window that are predicted", CHRONOS)
    season: Annotated[int, Field(ge=1, le=LENGTH)] = option(1, "values of a season, such as 12 of months; 1: none")
    scaling: Literal["mean", "standard"] = option(
        "mean",
        "what a window is scaled by",
        values={
            "mean": "divided by the mean of the context's absolute values (Ansari et al. 2024, section 3.1)",
            "standard": "the context's mean is subtracted, and the rest divided by its standard deviation",
        },
    )
    bins: Annotated[int, Field(ge=2, le=MOST_BINS)] = option(4094, "evenly spaced bins of scaled values", CHRONOS)
    limit: Annotated[float, Field(gt=0, le=FACTOR)] = option(
        15.0, "the centres of the first and last bin are -limit and limit; values beyond are put into these", CHRONOS
    )
