"""What can be chosen about the paper's Transformer. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import LAYERS
from openwork.models.layer_settings import LayerSettings
from openwork.models.tying import Tying


class _Stacks(Settings):
    kind: Literal["transformer"] = "transformer"
    encoder_layers: int = Field(
        default=6,
        ge=1,
        le=LAYERS,
        description="N of the encoder",
        json_schema_extra={"origin": "Vaswani et al. 2017, section 3.1"},
    )
    decoder_layers: int = Field(
        default=6,
        ge=1,
        le=LAYERS,
        description="N of the decoder",
        json_schema_extra={"origin": "Vaswani et al. 2017, section 3.1"},
    )
    tying: Tying = "three-way"


class TransformerSettings(LayerSettings, _Stacks):
    """The encoder-decoder of the paper; the defaults are its base model."""
