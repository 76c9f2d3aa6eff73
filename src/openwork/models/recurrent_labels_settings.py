"""What can be chosen about the recurrent model of labels. No torch here, so that help and checks are instant."""

from typing import Literal

from openwork.base.config import Settings
from openwork.base.fields import option
from openwork.base.limits import LayerCount
from openwork.models.recurrent_settings import CellDropout, CellName, CellWidth


class RecurrentLabelsSettings(Settings):
    """Recurrent layers that read a text and tell a label of it, or one of each of its words."""

    kind: Literal["recurrent-labels"] = "recurrent-labels"
    task: Literal["tag", "classify"] = option(
        "tag",
        "what the labels are told of",
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
