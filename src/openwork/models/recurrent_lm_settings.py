"""What can be chosen about the recurrent language model and its classifier. No torch here, so that help is instant."""

from typing import Annotated, Literal

from openwork.base.config import Settings
from openwork.base.fields import old_spellings, option
from openwork.base.limits import LAYERS, LayerCount
from openwork.models.recurrent_settings import CellDropout, CellName, CellWidth


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
    task_layers: int = option(
        0,
        "layers of a classifier's own that read the features beside an embedding of their own; 0: none",
        "Peters et al. 2018, section 3.3",
        ge=0,
        le=LAYERS,
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
