"""What can be chosen about the dilated convolutional model. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import KERNEL, LAYERS, LENGTH, WIDTH
from openwork.models.tying import Tying


class ByteNetSettings(Settings):
    """Dilated convolutions, the decoder on top of the encoder; the defaults are the translation model of Kalchbrenner
    et al., which reads and writes characters.
    """

    kind: Literal["bytenet"] = "bytenet"
    width: int = Field(
        default=1600,
        ge=2,
        le=WIDTH,
        description="2d: numbers in the vector of a token; the dilated convolutions have half as many",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 5"},
    )
    kernel: int = Field(
        default=3,
        ge=1,
        le=KERNEL,
        description="k: positions that a convolution sees",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 5"},
    )
    encoder_layers: int = Field(
        default=30,
        ge=1,
        le=LAYERS,
        description="residual blocks that read the source",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 5"},
    )
    decoder_layers: int = Field(
        default=30,
        ge=1,
        le=LAYERS,
        description="residual blocks that write the target",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 5"},
    )
    cycle: int = Field(
        default=5,
        ge=1,
        le=30,
        description="blocks whose dilations double from 1 on, before they begin again at 1: 5 make 1, 2, 4, 8, 16",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 3.5"},
    )
    length_ratio: float = Field(
        default=1.2,
        ge=1,
        le=10,
        description="a: columns for a source token; a target that is longer is written on without the source",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 3.2"},
    )
    length_extra: int = Field(
        default=0,
        ge=0,
        le=LENGTH,
        description="b: columns besides",
        json_schema_extra={"origin": "Kalchbrenner et al. 2016, section 3.2"},
    )
    tying: Tying = "none"
    dropout: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="on embeddings, on what a block adds, and before the output",
        json_schema_extra={"origin": "Srivastava et al. 2014"},
    )
