"""What can be chosen about the paper's Transformer. No torch here, so that help and checks are instant."""

from typing import Literal

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import LayerCount
from openwork.models.layer_settings import LayerSettings
from openwork.models.tying import Tying


class _Stacks(Settings):
    kind: Literal["transformer"] = "transformer"
    encoder_layers: LayerCount = option(6, "N of the encoder", "Vaswani et al. 2017, section 3.1")
    decoder_layers: LayerCount = option(6, "N of the decoder", "Vaswani et al. 2017, section 3.1")
    tying: Tying = "three-way"


class TransformerSettings(LayerSettings, _Stacks):
    """The encoder-decoder of the paper; the defaults are its base model."""
