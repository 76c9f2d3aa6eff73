"""What can be chosen about the recurrent model. No torch here, so that help and checks are instant."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import option
from openwork.base.limits import WIDTH, LayerCount, Width
from openwork.models.tying import Tying

CellName = Annotated[
    Literal["rnn", "lstm", "gru"],
    Field(
        description="how a recurrent layer goes from one token to the next",
        json_schema_extra={
            "values": {
                "rnn": "h_t = tanh(W x_t + U h_(t-1)), without gates (Elman 1990)",
                "lstm": "four blocks of weights: three gates around an inner value (Hochreiter and Schmidhuber 1997)",
                "gru": "three blocks of weights: two gates, no inner value (Cho et al. 2014)",
            }
        },
    ),
]


CellWidth = Annotated[
    int,
    Field(
        ge=1,
        le=WIDTH,
        description="numbers in the vector of one token, and in a cell's state",
        json_schema_extra={"origin": "Hochreiter and Schmidhuber 1997"},
    ),
]
CellDropout = Annotated[
    float,
    Field(
        ge=0,
        lt=1,
        description="on embeddings, between layers, and before the output",
        json_schema_extra={"origin": "Zaremba et al. 2014"},
    ),
]


class RecurrentSettings(Settings):
    """Recurrent encoder and decoder with attention or without.

    The defaults are LSTMs with additive attention, one layer each, as Bahdanau et al. 2015 have it.
    """

    kind: Literal["recurrent"] = "recurrent"
    width: CellWidth = 512
    cell: CellName = "lstm"
    encoder_layers: LayerCount = option(
        1,
        "layers of cells that read the source: in both directions, without attention in one",
        "Bahdanau et al. 2015, section 3.2",
    )
    decoder_layers: LayerCount = option(
        1,
        "layers of cells that write the target; with additive attention the first one attends",
        "Bahdanau et al. 2015, section 3.1",
    )
    attention: Literal["additive", "dot", "general", "none"] = option(
        "additive",
        "how the decoder looks at the source",
        values={
            "additive": "before each step, by v^T tanh(W s + U h) (Bahdanau et al. 2015)",
            "dot": "after each step, by s^T h, each direction of the encoder half as wide (Luong et al. 2015)",
            "general": "after each step, by s^T W h (Luong et al. 2015)",
            "none": "not at all: all it knows is the encoder's last state (Sutskever et al. 2014)",
        },
    )
    attention_width: Width | None = option(
        None, "hidden units of additive attention's score; width", "Bahdanau et al. 2015, appendix A.1.2"
    )
    tying: Tying = "target"
    dropout: CellDropout = 0.2

    @model_validator(mode="after")
    def _attention_fits(self) -> "RecurrentSettings":
        if self.attention == "dot" and self.width % 2:
            raise RuleError(
                f"attention dot needs an even width, and width is {self.width}",
                hint='the two directions of the encoder share it; make it even, or set attention = "general"',
                code="C082",
            )
        if self.attention != "additive" and self.attention_width is not None:
            raise RuleError(
                f'attention_width is set, but attention is "{self.attention}", which has none',
                hint='leave out attention_width, or set attention = "additive"',
                code="C083",
            )
        return self

    @property
    def encoder_width(self) -> int:
        """Numbers in the state of one direction of the encoder."""
        return self.width // 2 if self.attention == "dot" else self.width

    @property
    def memory_width(self) -> int:
        """Numbers in what the encoder knows at a token."""
        return self.encoder_width if self.attention == "none" else 2 * self.encoder_width

    @property
    def score_width(self) -> int:
        """Hidden units of the attention's score."""
        return self.attention_width or self.width
