"""What can be chosen about the gated, dilated language model. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import KERNEL, LAYERS, WIDTH
from openwork.models.tying import LanguageTying


class WaveNetSettings(Settings):
    """Causal dilated convolutions that continue what they have read; dilations and gates are those of van den Oord
    et al., who do not say how wide their layers are.
    """

    kind: Literal["wavenet"] = "wavenet"
    width: int = Field(
        default=512,
        ge=1,
        le=WIDTH,
        description="numbers in a token's vector, and in the residual stream",
        json_schema_extra={"origin": "van den Oord et al. 2016, section 2.4"},
    )
    skip_width: int = Field(
        default=256,
        ge=1,
        le=WIDTH,
        description="numbers that each layer adds to the output",
        json_schema_extra={"origin": "van den Oord et al. 2016, section 2.4"},
    )
    kernel: int = Field(
        default=2,
        ge=2,
        le=KERNEL,
        description="k: positions that a convolution sees",
        json_schema_extra={"origin": "van den Oord et al. 2016, figure 3"},
    )
    layers: int = Field(
        default=30,
        ge=1,
        le=LAYERS,
        description="dilated layers; the model sees as far back as they reach together and no further",
        json_schema_extra={"origin": "van den Oord et al. 2016, section 2.1"},
    )
    cycle: int = Field(
        default=10,
        ge=1,
        le=30,
        description="layers whose dilations double from 1 on, before they begin again at 1: 10 make 1, 2, 4 ... 512",
        json_schema_extra={"origin": "van den Oord et al. 2016, section 2.1"},
    )
    tying: LanguageTying = "embeddings"
    dropout: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="on embeddings, behind the gates, and before the output; not in the paper",
        json_schema_extra={"origin": "Srivastava et al. 2014"},
    )
