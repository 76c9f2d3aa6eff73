"""What can be chosen about the encoder with a head, BERT. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.models.layer_settings import LayerSettings

EncoderTask = Literal["classify", "tag"]


class _Head(Settings):
    kind: Literal["encoder"] = "encoder"
    task: EncoderTask = Field(
        default="classify",
        description="what is told of a source",
        json_schema_extra={
            "values": {
                "classify": "one label, from the vector of the start symbol (Devlin et al. 2019, figure 4 a and b)",
                "tag": "one label for each token that begins a word (Devlin et al. 2019, figure 4 d)",
            }
        },
    )
    layers: int = Field(
        default=12,
        ge=1,
        description="L: layers of the encoder",
        json_schema_extra={"origin": "Devlin et al. 2019, section 3"},
    )
    segments: int = Field(
        default=0,
        ge=0,
        description="learnt vectors that tell a source's parts, each closed by an end symbol; 0: none, BERT has 2",
        json_schema_extra={"origin": "Devlin et al. 2019, section 3"},
    )

    @property
    def tying(self) -> Literal["three-way", "none"]:
        """Labels are no pieces of the source, so that they have a matrix of their own."""
        return "none"


class EncoderSettings(LayerSettings, _Head):
    """An encoder that reads in both directions, and a head that tells something of what was read."""
