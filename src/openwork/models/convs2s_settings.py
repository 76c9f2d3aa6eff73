"""What can be chosen about the gated convolutional model. No torch here, so that help and checks are instant."""

from typing import Literal

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import DropRate, KernelWidth, LayerCount, TokenCount, Width
from openwork.models.tying import Tying


class ConvS2SSettings(Settings):
    """Gated convolutions with attention in every decoder layer; the defaults are the model of Gehring et al. for
    English to Romanian.
    """

    kind: Literal["convs2s"] = "convs2s"
    width: Width = option(
        512, "numbers in a token's vector between the convolutions", "Gehring et al. 2017, section 4.2"
    )
    embedding_width: Width | None = option(
        None,
        "width of the embeddings, of the memory and of the vectors before the output; width",
        "Gehring et al. 2017, section 4.2",
    )
    kernel: KernelWidth = option(3, "k: positions that a convolution sees", "Gehring et al. 2017, section 3.2")
    encoder_layers: LayerCount = option(
        20,
        "convolutions that read the source; together they see layers x (kernel - 1) + 1 positions",
        "Gehring et al. 2017, section 4.2",
    )
    decoder_layers: LayerCount = option(
        20, "convolutions that write the target, each with a step of attention", "Gehring et al. 2017, section 4.2"
    )
    maximum_length: TokenCount = option(
        1024,
        "positions of source and target that have a learnt vector, end symbols included",
        "Gehring et al. 2017, section 3.1",
    )
    tying: Tying = "none"
    dropout: DropRate = option(
        0.1, "on embeddings, on the input of convolutions, and before the output", "Gehring et al. 2017, section 4.2"
    )

    @property
    def stream_start(self) -> int:
        """Width of the embeddings, given or that of the rest."""
        return self.embedding_width or self.width
