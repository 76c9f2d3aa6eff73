"""What can be chosen about the encoder with a head, BERT. No torch here, so that help and checks are instant."""

from typing import Literal

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.limits import LAYERS, LENGTH
from openwork.models.layer_settings import LayerSettings

EncoderTask = Literal["classify", "tag", "fill", "answer", "embed"]


class _Head(Settings):
    kind: Literal["encoder"] = "encoder"
    task: EncoderTask = Field(
        default="classify",
        description="what is told of a source",
        json_schema_extra={
            "values": {
                "classify": "one label, from the vector of the start symbol (Devlin et al. 2019, figure 4 a and b)",
                "tag": "one label for each token that begins a word (Devlin et al. 2019, figure 4 d)",
                "fill": "the source with its masked pieces restored (Devlin et al. 2019, section 3.1)",
                "answer": "the first and the last word of an answer in the source (Devlin et al. 2019, figure 4 c)",
                "embed": "a vector for the whole, the mean of its tokens' (Reimers and Gurevych 2019)",
            }
        },
    )
    layers: int = Field(
        default=12,
        ge=1,
        le=LAYERS,
        description="L: layers of the encoder",
        json_schema_extra={"origin": "Devlin et al. 2019, section 3"},
    )
    segments: int = Field(
        default=0,
        ge=0,
        le=LENGTH,
        description="learnt vectors that tell a source's parts, each closed by an end symbol; 0: none, BERT has 2",
        json_schema_extra={"origin": "Devlin et al. 2019, section 3"},
    )
    mask_piece: int = Field(
        default=1,
        ge=0,
        le=LENGTH,
        description="the id of the piece that stands for a masked one (fill); 1, the unknown symbol, serves as such",
        json_schema_extra={"origin": "Devlin et al. 2019, section 3.1"},
    )

    @property
    def tying(self) -> Literal["three-way", "none"]:
        """Where pieces of the source are told, their output matrix is the embedding; labels have one of their own."""
        return "three-way" if self.task in ("fill", "embed") else "none"


class EncoderSettings(LayerSettings, _Head):
    """An encoder that reads in both directions, and a head that tells something of what was read."""
