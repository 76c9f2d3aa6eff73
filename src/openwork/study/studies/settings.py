"""The sizes of the studies. The defaults take seconds on one core. No torch here."""

from typing import Annotated

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import FACTOR, KERNEL, LAYERS, SEED

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


class RotationSettings(Settings):
    """Of the sinusoids' rotation."""

    width: int = Field(default=64, ge=2, le=_SIZE, multiple_of=2, description="numbers in a vector")
    positions: int = Field(default=128, ge=2, le=_SIZE, description="positions that one matrix is tried at")
    offsets: tuple[_Size, ...] = Field(default=(1, 5, 20), min_length=1, description="values of k")
    seed: int = _SEED


class LayerStudySettings(Settings):
    """Of the costs of layer types."""

    lengths: tuple[_Size, ...] = Field(default=(16, 32, 64, 128, 256), min_length=2, description="values of n, rising")
    width: int = Field(default=64, ge=4, le=_SIZE, multiple_of=4, description="numbers in a vector")
    kernel: int = Field(default=3, ge=2, le=KERNEL, description="positions that a convolution sees")
    repeats: int = Field(default=3, ge=1, le=KERNEL, description="times that each layer is timed; the shortest counts")
    seed: int = _SEED
