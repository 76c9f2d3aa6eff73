"""Models that predict labels of a source, with the interface of those that write: place i predicts label i.

All labels are known when the source was read: `start` computes a vector for each place of the target, and
`advance` gives as many as it gets tokens, whose values it does not read. The places behind the last label
predict the end of the target, from the vector of the source's end.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS
from openwork.models.interfaces import SequenceModel
from openwork.nn.cache import Selectable
from openwork.nn.shapes import AnySource, Hidden, Lengths, PlaceVectors, Source, Tokens, Vectors


@dataclass(frozen=True)
class LabelState(Selectable):
    """The vectors of each source's places, how many of them were given out, and the sources."""

    places: Tensor  # (rows, place, width); the last one of a row serves for all that follow
    source: Tensor
    source_lengths: Tensor
    position: int = 0


def places_from(table: Tensor, first: int, count: int) -> Tensor:
    """Entries (rows, count, ...) of places `first` and after in a table (rows, place, ...), its last one repeated."""
    wanted = torch.arange(first, first + count, device=table.device).clamp(max=table.shape[1] - 1)
    return table.index_select(1, wanted)


class LabelModel(SequenceModel[LabelState]):
    """Reads a source as a whole and predicts labels of it.

    `begins`: which pieces of the source's vocabulary begin a word; all of them before `set_word_starts`.
    It is kept with the weights.
    """

    begins: Tensor

    def __init__(self, source_vocabulary: int) -> None:
        super().__init__()
        begins = torch.ones(source_vocabulary, dtype=torch.bool)
        self.register_buffer("begins", begins, persistent=source_vocabulary > 0)  # a source of numbers has no pieces

    def set_word_starts(self, begins: Bool[Tensor, "vocabulary"]) -> None:
        """Sets which pieces begin a word: a fact of the vocabulary, set once after the model was built."""
        self.begins.copy_(begins)

    @abstractmethod
    def read(self, source: AnySource, source_lengths: Lengths) -> PlaceVectors:
        """A vector for each place of the target; that of the last place serves for all places after it as well."""

    def start(self, source: AnySource, source_lengths: Lengths) -> LabelState:
        return LabelState(self.read(source, source_lengths), source, source_lengths)

    def advance(self, tokens: Tokens, state: LabelState) -> tuple[Hidden, LabelState]:
        count = tokens.shape[1]
        return places_from(state.places, state.position, count), replace(state, position=state.position + count)


class LabelMatrix(LabelModel):
    """Predicts labels that are no pieces of the source: `output`, a parameter, is their matrix, `bias` is added."""

    def set_output(self, output: nn.Parameter) -> None:
        """`output` (labels, width) becomes the matrix, with a bias of zeros; part of building."""
        self.output = output
        self.bias = nn.Parameter(torch.zeros(output.shape[0]))


def at_places(vectors: Vectors, places: Int[Tensor, "batch place"]) -> PlaceVectors:
    """The vectors of these positions."""
    return vectors.gather(1, places[:, :, None].expand(-1, -1, vectors.shape[2]))


def word_places(
    source: Source, source_lengths: Lengths, begins: Bool[Tensor, "vocabulary"]
) -> Int[Tensor, "batch place"]:
    """The positions of the tokens that begin a word, in their order, then that of the end symbol, as often as needed.

    A source's end symbols begin no word: neither its last token nor one that parts it into segments.
    """
    positions = torch.arange(source.shape[1], device=source.device)
    inside = positions < (source_lengths - 1)[:, None]
    is_beginning = begins[source] & inside & (source != SYMBOL_IDS.end)
    ends = (source_lengths - 1).clamp(min=0)[:, None]
    order = is_beginning.logical_not().sort(dim=1, stable=True).indices
    count = is_beginning.sum(dim=1, keepdim=True)
    found = torch.where(positions < count, order, ends)
    return torch.cat([found, ends], dim=1)
