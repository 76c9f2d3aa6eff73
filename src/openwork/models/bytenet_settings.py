"""What can be chosen about the dilated convolutional model. No torch here, so that help and checks are instant."""

from typing import Literal

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import LENGTH, WIDTH, DropRate, KernelWidth, LayerCount
from openwork.models.tying import Tying


class ByteNetSettings(Settings):
    """Dilated convolutions, the decoder on top of the encoder; the defaults are the translation model of Kalchbrenner
    et al., which reads and writes characters.
    """

    kind: Literal["bytenet"] = "bytenet"
    width: int = option(
        1600,
        "2d: numbers in the vector of a token; the dilated convolutions have half as many",
        "Kalchbrenner et al. 2016, section 5",
        ge=2,
        le=WIDTH,
    )
    kernel: KernelWidth = option(3, "k: positions that a convolution sees", "Kalchbrenner et al. 2016, section 5")
    encoder_layers: LayerCount = option(
        30, "residual blocks that read the source", "Kalchbrenner et al. 2016, section 5"
    )
    decoder_layers: LayerCount = option(
        30, "residual blocks that write the target", "Kalchbrenner et al. 2016, section 5"
    )
    cycle: int = option(
        5,
        "blocks whose dilations double from 1 on, before they begin again at 1: 5 make 1, 2, 4, 8, 16",
        "Kalchbrenner et al. 2016, section 3.5",
        ge=1,
        le=30,
    )
    length_ratio: float = option(
        1.2,
        "a: columns for a source token; a target that is longer is written on without the source",
        "Kalchbrenner et al. 2016, section 3.2",
        ge=1,
        le=10,
    )
    length_extra: int = option(0, "b: columns besides", "Kalchbrenner et al. 2016, section 3.2", ge=0, le=LENGTH)
    tying: Tying = "none"
    dropout: DropRate = option(
        0.1, "on embeddings, on what a block adds, and before the output", "Srivastava et al. 2014"
    )
