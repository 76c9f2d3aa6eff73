"""What can be chosen about a language model of decoder layers. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import LAYERS
from openwork.models.layer_settings import LayerSettings
from openwork.models.tying import LanguageTying


class _Stack(Settings):
    kind: Literal["decoder"] = "decoder"
    layers: int = Field(
        default=12,
        ge=1,
        le=LAYERS,
        description="layers, each of masked self-attention and a feed-forward network",
        json_schema_extra={"origin": "Radford et al. 2018 (GPT), section 4.1"},
    )
    tying: LanguageTying = "three-way"
    separate_prompt: bool = Field(
        default=False,
        description="a start symbol after the prompt too, so that the model sees where the prompt ends",
        json_schema_extra={"origin": "Radford et al. 2018 (GPT), section 3.3"},
    )


class DecoderSettings(LayerSettings, _Stack):
    """The decoder of the paper without an encoder: it continues what it has read (Radford et al. 2018, GPT)."""
