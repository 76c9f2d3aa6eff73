"""What can be chosen about the gated, dilated language model. No torch here, so that help and checks are instant."""

from typing import Literal

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import KERNEL, DropRate, LayerCount, Width
from openwork.models.tying import LanguageTying


class WaveNetSettings(Settings):
    """Causal dilated convolutions that continue what they have read; dilations and gates are those of van den Oord
    et al., who do not say how wide their layers are.
    """

    kind: Literal["wavenet"] = "wavenet"
    width: Width = option(
        512, "numbers in a token's vector, and in the residual stream", "van den Oord et al. 2016, section 2.4"
    )
    skip_width: Width = option(
        256, "numbers that each layer adds to the output", "van den Oord et al. 2016, section 2.4"
    )
    kernel: int = option(
        2, "k: positions that a convolution sees", "van den Oord et al. 2016, figure 3", ge=2, le=KERNEL
    )
    layers: LayerCount = option(
        30,
        "dilated layers; the model sees as far back as they reach together and no further",
        "van den Oord et al. 2016, section 2.1",
    )
    cycle: int = option(
        10,
        "layers whose dilations double from 1 on, before they begin again at 1: 10 make 1, 2, 4 ... 512",
        "van den Oord et al. 2016, section 2.1",
        ge=1,
        le=30,
    )
    tying: LanguageTying = "embeddings"
    dropout: DropRate = option(
        0.1, "on embeddings, behind the gates, and before the output; not in the paper", "Srivastava et al. 2014"
    )
