"""Settings of convolutional models. No torch here, so that help and checks are instant."""

from typing import Annotated, Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import KERNEL, LENGTH, WIDTH, DropRate, KernelWidth, LayerCount, TokenCount, Width
from openwork.models.settings import LanguageTying, PictureModelSettings, Tying

BYTENET = "Kalchbrenner et al. 2016, section"
CONVS2S = "Gehring et al. 2017, section"
VGG = "Simonyan and Zisserman 2015, section"
WAVENET = "van den Oord et al. 2016, section"

Cycle = Annotated[int, Field(ge=1, le=30)]


class ByteNetSettings(Settings):
    """Dilated convolutions, the decoder on top of the encoder; the defaults are the translation model of Kalchbrenner
    et al., which reads and writes characters.
    """

    kind: Literal["bytenet"] = "bytenet"
    width: Annotated[int, Field(ge=2, le=WIDTH)] = option(
        1600, "2d: numbers in the vector of a token; the dilated convolutions have half as many", f"{BYTENET} 5"
    )
    kernel: KernelWidth = option(3, "k: positions that a convolution sees", f"{BYTENET} 5")
    encoder_layers: LayerCount = option(30, "residual blocks that read the source", f"{BYTENET} 5")
    decoder_layers: LayerCount = option(30, "residual blocks that write the target", f"{BYTENET} 5")
    cycle: Cycle = option(
        5,
        "blocks whose dilations double from 1 on, before they begin again at 1: 5 make 1, 2, 4, 8, 16",
        f"{BYTENET} 3.5",
    )
    length_ratio: Annotated[float, Field(ge=1, le=10)] = option(
        1.2, "a: columns for a source token; a target that is longer is written on without the source", f"{BYTENET} 3.2"
    )
    length_extra: int = option(0, "b: columns besides", f"{BYTENET} 3.2", ge=0, le=LENGTH)
    tying: Tying = "none"
    dropout: DropRate = option(
        0.1, "on embeddings, on what a block adds, and before the output", "Srivastava et al. 2014"
    )


class ConvS2SSettings(Settings):
    """Gated convolutions with attention in every decoder layer; the defaults are the model of Gehring et al. for
    English to Romanian.
    """

    kind: Literal["convs2s"] = "convs2s"
    width: Width = option(512, "numbers in a token's vector between the convolutions", f"{CONVS2S} 4.2")
    embedding_width: Width | None = option(
        None, "width of the embeddings, of the memory and of the vectors before the output; width", f"{CONVS2S} 4.2"
    )
    kernel: KernelWidth = option(3, "k: positions that a convolution sees", f"{CONVS2S} 3.2")
    encoder_layers: LayerCount = option(
        20, "convolutions that read the source; together they see layers x (kernel - 1) + 1 positions", f"{CONVS2S} 4.2"
    )
    decoder_layers: LayerCount = option(
        20, "convolutions that write the target, each with a step of attention", f"{CONVS2S} 4.2"
    )
    maximum_length: TokenCount = option(
        1024, "positions of source and target that have a learnt vector, end symbols included", f"{CONVS2S} 3.1"
    )
    tying: Tying = "none"
    dropout: DropRate = option(
        0.1, "on embeddings, on the input of convolutions, and before the output", f"{CONVS2S} 4.2"
    )

    @property
    def stream_start(self) -> int:
        """Width of the embeddings, given or that of the rest."""
        return self.embedding_width or self.width


class WaveNetSettings(Settings):
    """Causal dilated convolutions that continue what they have read; dilations and gates are those of van den Oord
    et al., who do not say how wide their layers are.
    """

    kind: Literal["wavenet"] = "wavenet"
    width: Width = option(512, "numbers in a token's vector, and in the residual stream", f"{WAVENET} 2.4")
    skip_width: Width = option(256, "numbers that each layer adds to the output", f"{WAVENET} 2.4")
    kernel: int = option(
        2, "k: positions that a convolution sees", "van den Oord et al. 2016, figure 3", ge=2, le=KERNEL
    )
    layers: LayerCount = option(
        30, "dilated layers; the model sees as far back as they reach together and no further", f"{WAVENET} 2.1"
    )
    cycle: Cycle = option(
        10,
        "layers whose dilations double from 1 on, before they begin again at 1: 10 make 1, 2, 4 ... 512",
        f"{WAVENET} 2.1",
    )
    tying: LanguageTying = "embeddings"
    dropout: DropRate = option(
        0.1, "on embeddings, behind the gates, and before the output; not in the paper", "Srivastava et al. 2014"
    )


class CnnSettings(PictureModelSettings):
    """A network of convolutions and pooling that reads a picture and predicts its class."""

    kind: Literal["cnn"] = "cnn"
    width: Width = option(
        64, "features that the first convolution finds; each later one finds twice as many", f"{VGG} 2.1"
    )
    layers: int = option(3, "convolutions, each with ReLU and pooling of two by two places", f"{VGG} 2.1", ge=1, le=10)
    kernel: KernelWidth = option(3, "k: a convolution sees k x k places", f"{VGG} 2.1")
    columns: TokenCount = option(32, "patches from left to right; it follows from [picture]", f"{VGG} 2.1")
    dropout: DropRate = option(0.1, "before the output", "Srivastava et al. 2014")

    @property
    def widths(self) -> list[int]:
        """Features after each convolution."""
        return [self.width * 2**layer for layer in range(self.layers)]
