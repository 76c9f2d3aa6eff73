"""What can be chosen about a language model of decoder layers. No torch here, so that help and checks are instant."""

from typing import Literal

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import LayerCount
from openwork.models.layer_settings import LayerSettings
from openwork.models.tying import LanguageTying


class _Stack(Settings):
    kind: Literal["decoder"] = "decoder"
    layers: LayerCount = option(
        12, "layers, each of masked self-attention and a feed-forward network", "Radford et al. 2018 (GPT), section 4.1"
    )
    tying: LanguageTying = "three-way"
    separate_prompt: bool = option(
        False,
        "a start symbol after the prompt too, so that the model sees where the prompt ends",
        "Radford et al. 2018 (GPT), section 3.3",
    )


class DecoderSettings(LayerSettings, _Stack):
    """The decoder of the paper without an encoder: it continues what it has read (Radford et al. 2018, GPT)."""
