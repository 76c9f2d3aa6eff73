"""What can be chosen about the gated convolutional model. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import KERNEL, LAYERS, LENGTH, WIDTH
from openwork.models.tying import Tying


class ConvS2SSettings(Settings):
    """Gated convolutions with attention in every decoder layer; the defaults are the model of Gehring et al. for
    English to Romanian.
    """

    kind: Literal["convs2s"] = "convs2s"
    width: int = Field(
        default=512,
        ge=1,
        le=WIDTH,
        description="numbers in a token's vector between the convolutions",
        json_schema_extra={"origin": "Gehring et al. 2017, section 4.2"},
    )
    embedding_width: int | None = Field(
        default=None,
        ge=1,
        le=WIDTH,
        description="width of the embeddings, of the memory and of the vectors before the output; width",
        json_schema_extra={"origin": "Gehring et al. 2017, section 4.2"},
    )
    kernel: int = Field(
        default=3,
        ge=1,
        le=KERNEL,
        description="k: positions that a convolution sees",
        json_schema_extra={"origin": "Gehring et al. 2017, section 3.2"},
    )
    encoder_layers: int = Field(
        default=20,
        ge=1,
        le=LAYERS,
        description="convolutions that read the source; together they see layers x (kernel - 1) + 1 positions",
        json_schema_extra={"origin": "Gehring et al. 2017, section 4.2"},
    )
    decoder_layers: int = Field(
        default=20,
        ge=1,
        le=LAYERS,
        description="convolutions that write the target, each with a step of attention",
        json_schema_extra={"origin": "Gehring et al. 2017, section 4.2"},
    )
    maximum_length: int = Field(
        default=1024,
        ge=1,
        le=LENGTH,
        description="positions of source and target that have a learnt vector, end symbols included",
        json_schema_extra={"origin": "Gehring et al. 2017, section 3.1"},
    )
    tying: Tying = "none"
    dropout: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="on embeddings, on the input of convolutions, and before the output",
        json_schema_extra={"origin": "Gehring et al. 2017, section 4.2"},
    )

    @property
    def stream_start(self) -> int:
        """Width of the embeddings, given or that of the rest."""
        return self.embedding_width or self.width
