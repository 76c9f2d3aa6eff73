"""What can be chosen about the recurrent model. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.models.tying import Tying


class RecurrentSettings(Settings):
    """LSTM encoder and decoder with additive attention; one layer each, as Bahdanau et al. 2015 have it."""

    kind: Literal["recurrent"] = "recurrent"
    width: int = Field(
        default=512,
        ge=1,
        description="numbers in the vector of one token, and in an LSTM's state",
        json_schema_extra={"origin": "Hochreiter and Schmidhuber 1997"},
    )
    encoder_layers: int = Field(
        default=1,
        ge=1,
        description="bidirectional LSTM layers that read the source",
        json_schema_extra={"origin": "Bahdanau et al. 2015, section 3.2"},
    )
    decoder_layers: int = Field(
        default=1,
        ge=1,
        description="LSTM layers that write the target; the first one attends",
        json_schema_extra={"origin": "Bahdanau et al. 2015, section 3.1"},
    )
    attention_width: int | None = Field(
        default=None,
        ge=1,
        description="hidden units of the attention's score; width",
        json_schema_extra={"origin": "Bahdanau et al. 2015, appendix A.1.2"},
    )
    tying: Tying = "target"
    dropout: float = Field(
        default=0.2,
        ge=0,
        lt=1,
        description="on embeddings, between layers, and before the output",
        json_schema_extra={"origin": "Zaremba et al. 2014"},
    )

    @property
    def score_width(self) -> int:
        """Hidden units of the attention's score."""
        return self.attention_width or self.width
