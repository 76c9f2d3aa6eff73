"""Every study in one table with its sizes, whose defaults take seconds on one core, and how one is run.

No torch here: what calculates a study is loaded when it is run.
"""

from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from openwork.base.config import Layer, Settings, apply_assignments, build
from openwork.base.errors import UsageError
from openwork.base.limits import FACTOR, KERNEL, LAYERS, SEED
from openwork.study.studies.study import Result

SCHEMA = 1  # of `to_json`; a change that readers must know of raises it
_SIZE = 10_000  # numbers in a vector, positions, steps
_Size = Annotated[int, Field(ge=1, le=_SIZE)]
_SEED = Field(default=0, ge=0, le=SEED, description="of the weights and inputs")


class RecurrenceSettings(Settings):
    """Of gradients through time."""

    steps: int = Field(default=100, ge=2, le=_SIZE, description="time steps that the gradient goes back")
    width: int = Field(default=32, ge=4, le=_SIZE, multiple_of=4, description="numbers in a vector")
    batch: int = Field(default=8, ge=1, le=KERNEL, description="sequences that the mean is taken over")
    recurrent_norm: float = Field(default=0.9, gt=0, le=FACTOR, description="norm of the recurrent matrix")
    closed_bias: float = Field(
        default=-5.0, ge=-FACTOR, le=FACTOR, description="bias of the forget gates that start closed"
    )
    input_deviation: float = Field(default=0.1, gt=0, le=FACTOR, description="standard deviation of the inputs")
    seed: int = _SEED


class DepthSettings(Settings):
    """Of gradients through layers."""

    layers: int = Field(default=100, ge=2, le=LAYERS, description="encoder layers, of two sub-layers each")
    width: int = Field(default=16, ge=4, le=_SIZE, multiple_of=4, description="numbers in a vector")
    positions: int = Field(default=6, ge=2, le=_SIZE, description="positions of a sentence")
    batch: int = Field(default=2, ge=1, le=KERNEL, description="sentences that the mean is taken over")
    seed: int = _SEED


class ScaleSettings(Settings):
    """Of the scores' scale."""

    widths: tuple[_Size, ...] = Field(default=(4, 16, 64, 256, 512), min_length=2, description="values of d_k, rising")
    positions: int = Field(default=32, ge=2, le=_SIZE, description="positions of a sentence")
    batch: int = Field(default=16, ge=1, le=KERNEL, description="sentences that the figures are taken over")
    deviation: float = Field(default=1.0, gt=0, le=FACTOR, description="standard deviation of queries and keys")
    seed: int = _SEED


class OrderSettings(Settings):
    """Of the order of positions."""

    layers: int = Field(default=2, ge=1, le=LAYERS, description="encoder layers")
    width: int = Field(default=16, ge=8, le=_SIZE, multiple_of=8, description="numbers in a vector")
    positions: int = Field(default=7, ge=3, le=_SIZE, description="positions of a sentence")
    batch: int = Field(default=2, ge=1, le=KERNEL, description="sentences that are permuted")
    seed: int = _SEED


class LayerStudySettings(Settings):
    """Of the costs of layer types."""

    lengths: tuple[_Size, ...] = Field(default=(16, 32, 64, 128, 256), min_length=2, description="values of n, rising")
    width: int = Field(default=64, ge=4, le=_SIZE, multiple_of=4, description="numbers in a vector")
    kernel: int = Field(default=3, ge=2, le=KERNEL, description="positions that a convolution sees")
    repeats: int = Field(default=3, ge=1, le=KERNEL, description="times that each layer is timed; the shortest counts")
    seed: int = _SEED


class Study(NamedTuple):
    """One question: its title, what to see in the figures, and the source that says so.

    `settings` are the sizes. `file` is the file of this folder whose function `run` calculates figures and claims.
    """

    name: str
    title: str
    see: str
    source: str
    settings: type[Settings]
    file: str

    def run(self, sizes: Settings) -> Result:
        return import_module(f"openwork.study.studies.{self.file}").run(sizes)

    def summary(self) -> dict[str, Any]:
        """What it is, with the defaults of its sizes, as plain values."""
        return {
            "study": self.name,
            "title": self.title,
            "see": self.see,
            "source": self.source,
            "settings": self.settings().model_dump(mode="json"),
        }

    def to_json(self, sizes: Settings, result: Result) -> dict[str, Any]:
        """Plain values, with the version of their form."""
        return {
            "schema": SCHEMA,
            **self.summary(),
            "settings": sizes.model_dump(mode="json"),
            "data": asdict(result.data),
            "claims": [claim._asdict() for claim in result.claims],
        }


_ALL = (
    Study(
        "gradients-through-time",
        "Vanishing gradients: how much of it comes back through a recurrent network",
        "Each step back multiplies an RNN's gradient by less than its matrix's norm, so it vanishes; an LSTM keeps "
        "more of it as long as its forget gates are open, and self-attention reaches every position in one step.",
        "Hochreiter et al. 2001, section 2; Pascanu et al. 2013, section 2; Vaswani et al. 2017, section 4",
        RecurrenceSettings,
        "recurrence",
    ),
    Study(
        "depth",
        "Many layers with and without residual connections",
        "Without residual connections the gradient dies out on its way to the first layer; with them the identity "
        "carries it. Norms between the sums change it too, so the paper's post-norm is not free of loss.",
        "He et al. 2016, section 3; Vaswani et al. 2017, section 3.1; Xiong et al. 2020, section 3",
        DepthSettings,
        "depth",
    ),
    Study(
        "score-scale",
        "Attention scores with and without 1 / sqrt(d_k)",
        "The variance of plain products grows with d_k, the largest weight nears 1, and the softmax has no slope left "
        "to learn by; divided by sqrt(d_k), all three stay where they are.",
        "Vaswani et al. 2017, section 3.2.1 and footnote 4",
        ScaleSettings,
        "scale",
    ),
    Study(
        "order",
        "What self-attention knows of the order of its input",
        "Without positions the difference is rounding: a permuted sentence gets the same vectors, permuted. Positions "
        "make it a different sentence.",
        "Vaswani et al. 2017, section 3.5; Lee et al. 2019, property 1",
        OrderSettings,
        "order",
    ),
    Study(
        "layer-costs",
        "Self-attention, recurrent and convolutional layers beside table 1 of the paper",
        "Self-attention needs the same number of serial steps at any length and joins any two positions directly, and "
        "pays with operations that grow with the square of the length.",
        "Vaswani et al. 2017, table 1 and section 4",
        LayerStudySettings,
        "layers",
    ),
)
STUDIES = {study.name: study for study in _ALL}


def find_study(name: str) -> Study:
    """The study of that name; UsageError if there is none."""
    if name not in STUDIES:
        raise UsageError(f"no study is named {name}", hint=f"there are: {', '.join(STUDIES)}", code="U036")
    return STUDIES[name]


def sizes_of(study: Study, assignments: Sequence[str]) -> Settings:
    """Its sizes, with assignments such as `steps=50` laid over the defaults; ConfigError for those it does not have."""
    layer = apply_assignments(Layer(), assignments)
    return build(study.settings, layer.mapping, layer.origins)
