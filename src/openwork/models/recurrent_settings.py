"""What can be chosen about the recurrent model. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings


class RecurrentSettings(Settings):
    """LSTM encoder and decoder with additive attention; one layer each, as Bahdanau et al. 2015 have it."""

    kind: Literal["recurrent"] = "recurrent"
    width: int = Field(default=512, ge=1, description="numbers in the vector of one token, and in an LSTM's state")
    encoder_layers: int = Field(default=1, ge=1, description="bidirectional LSTM layers that read the source")
    decoder_layers: int = Field(default=1, ge=1, description="LSTM layers that write the target; the first one attends")
    attention_width: int | None = Field(default=None, ge=1, description="hidden units of the attention's score; width")
    tying: Literal["three-way", "target", "none"] = Field(
        default="target", description="which of source embedding, target embedding and output matrix are one"
    )
    dropout: float = Field(default=0.2, ge=0, lt=1, description="on embeddings, between layers, and before the output")

    @property
    def score_width(self) -> int:
        """Hidden units of the attention's score."""
        return self.attention_width or self.width
