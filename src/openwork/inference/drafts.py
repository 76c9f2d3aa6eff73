"""A draft beside a model: both prepared, and greedy search of single sentences with them, by speculative decoding."""

from typing import Any

from torch import Tensor

from openwork.base.errors import UsageError
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.settings import DecodingSettings
from openwork.decoding.speculative import speculative_search
from openwork.inference.engine import Engine
from openwork.inference.prepared import can_be_prepared, prepare
from openwork.inference.prepared.transformer import PreparedTransformer
from openwork.models.interfaces import SequenceModel, StepModel
from openwork.models.seq2seq import Transformer


class Drafts:
    """Finds what greedy search by the engine's model finds. UsageError for models that cannot take steps back."""

    def __init__(self, engine: Engine, draft: SequenceModel) -> None:
        (model,) = engine.members if len(engine.members) == 1 else (None,)
        if model is None or not engine.is_prepared or not can_be_prepared(draft):
            raise UsageError(
                "--draft does not go with these models",
                why="both must be Transformers with the paper's attention, on a processor that has products of this "
                "precision, and the model no ensemble",
                hint="leave --draft out",
                code="U177",
            )
        assert isinstance(model, Transformer)
        # not the compiled step, which takes one position: here many positions of the model are checked at once
        self._model = PreparedTransformer(model, engine.precision)
        self._draft: StepModel[Any] = prepare(draft.eval(), engine.precision)

    def search(self, source: Tensor, lengths: Tensor, settings: DecodingSettings) -> list[list[Hypothesis]]:
        """The hypothesis of each sentence, one after another."""
        found = []
        for number, length in enumerate(lengths.tolist()):
            one = source[number : number + 1, :length]
            found.append([speculative_search(self._model, self._draft, one, lengths[number : number + 1], settings)])
        return found
