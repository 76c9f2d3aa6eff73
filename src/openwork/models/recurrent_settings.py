"""Settings of recurrent models. No torch here, so that help and checks are instant."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from openwork.base.config import Settings
from openwork.base.errors import RuleError
from openwork.base.fields import old_spellings, option
from openwork.base.limits import LAYERS, DropRate, LayerCount, Width
from openwork.models.settings import Tying

CellName = Annotated[
    Literal["rnn", "lstm", "gru"],
    option(
        ...,
        "how a recurrent layer goes from one token to the next",
        values={
            "rnn": "h_t = tanh(W x_t + U h_(t-1)), without gates (Elman 1990)",
            "lstm": "four blocks of weights: three gates around an inner value (Hochreiter and Schmidhuber 1997)",
            "gru": "three blocks of weights: two gates, no inner value (Cho et al. 2014)",
        },
    ),
]
CellWidth = Annotated[
    Width,
    option(..., "numbers in the vector of one token, and in a cell's state", "Hochreiter and Schmidhuber 1997"),
]
CellDropout = Annotated[
    DropRate, option(..., "on embeddings, between layers, and before the output", "Zaremba et al. 2014")
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
        "how the decoder attends to the source",
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


class RecurrentLabelsSettings(Settings):
    """Recurrent layers that read a text and predict a label of it, or one of each of its words."""

    kind: Literal["recurrent-labels"] = "recurrent-labels"
    task: Literal["tag", "classify"] = option(
        "tag",
        "what the labels describe",
        values={
            "tag": "of each word, from the state at its first piece (the many-to-many network of Elman 1990)",
            "classify": "of the whole text, from the last state of each direction",
        },
    )
    width: CellWidth = 512
    cell: CellName = "lstm"
    layers: LayerCount = option(1, "layers of cells that read the text", "Graves et al. 2013")
    bidirectional: bool = option(
        True,
        "whether the text is read backwards too, so that a word's label may follow from what comes later",
        "Schuster and Paliwal 1997",
    )
    dropout: CellDropout = 0.2

    @property
    def tying(self) -> Literal["three-way", "none"]:
        """Labels are no pieces of the source, so that they have a matrix of their own."""
        return "none"


class RecurrentLMSettings(Settings):
    """A recurrent language model, in one direction or in both, and a classifier on top of it.

    With `features = "mixture"` and both directions that is ELMo's way (Peters et al. 2018), with "last" and one that of
    ULMFiT (Howard and Ruder 2018).
    """

    kind: Literal["recurrent-lm"] = "recurrent-lm"
    task: Annotated[Literal["language-model", "classify"], old_spellings({"foretell": "language-model"})] = option(
        "language-model",
        "what the model is for",
        values={
            "language-model": "predict each token from those before it, and from those after it if bidirectional",
            "classify": "one label for the whole text",
        },
    )
    width: CellWidth = 512
    cell: CellName = "lstm"
    layers: LayerCount = option(2, "layers of cells in each direction", "Peters et al. 2018, section 3.4")
    bidirectional: bool = option(
        True,
        "whether a second reader goes backwards, which the first one never meets",
        "Peters et al. 2018, section 3.1",
    )
    features: Literal["mixture", "last"] = option(
        "mixture",
        "what the classifier sees of a token",
        values={
            "mixture": "all layers, each as much as is learnt (Peters et al. 2018, equation 1)",
            "last": "the last layer (Howard and Ruder 2018)",
        },
    )
    task_layers: Annotated[int, Field(ge=0, le=LAYERS)] = option(
        0,
        "layers of a classifier's own that read the features beside an embedding of their own; 0: none",
        "Peters et al. 2018, section 3.3",
    )
    dropout: CellDropout = 0.2

    @property
    def tying(self) -> Literal["three-way", "none"]:
        """A language model shares its output matrix with the embedding; a classifier has its own."""
        return "three-way" if self.task == "language-model" else "none"

    @property
    def normalisation(self) -> Literal["batch", "none"]:
        """The classifier's head has batch norms, which take their statistics from whole batches."""
        return "batch" if self.task == "classify" else "none"
