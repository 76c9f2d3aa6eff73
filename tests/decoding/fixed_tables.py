"""A table as a model for searches on tensors of fixed sizes, and those searches from their start to their results."""

import torch
from torch import Tensor

from decoding.tables import Logits, TableModel
from openwork.decoding.fixed.beam import FixedBeamSearch
from openwork.decoding.fixed.greedy import FixedGreedySearch
from openwork.decoding.fixed.search import FixedSearch, advance_until_done
from openwork.decoding.scoring import GivenUp, Hypothesis, length_limits, nothing_given_up
from openwork.decoding.settings import DecodingSettings


class FixedTableModel:
    """`TableModel` with a fixed number of rows; sentences beyond the batch have its first key."""

    device = torch.device("cpu")

    def __init__(self, logits: Logits, source: Tensor, sentences: int, beam: int, capacity: int) -> None:
        self.sentences, self.beam, self.capacity = sentences, beam, capacity
        self.model = TableModel(logits)
        self.vocabulary = len(logits(0, ()))
        keys = torch.cat([source[:, :1], source[:1, :1].expand(sentences - len(source), 1)])
        self.state = self.model.start(keys.repeat_interleave(beam, 0), torch.ones(sentences * beam))
        self.positions: list[int] = []

    def step(self, tokens: Tensor, parents: Tensor | None, position: Tensor) -> Tensor:
        self.positions.append(int(position))
        state = self.state if parents is None else self.state.select(parents)
        logits, self.state = self.model.step(tokens[:, None], state)
        return logits[:, -1]


def made(model: FixedTableModel, settings: DecodingSettings) -> FixedSearch:
    return (FixedGreedySearch if model.beam == 1 else FixedBeamSearch)(model, settings)


def fixed_search(
    logits: Logits,
    batch: tuple[Tensor, Tensor],
    settings: DecodingSettings,
    *,
    fillers: int = 0,
    given_up: GivenUp = nothing_given_up,
) -> list[list[Hypothesis]]:
    """`fillers`: places without a sentence."""
    source, lengths = batch
    limits = length_limits(lengths, settings)
    longest = int(limits.max())
    model = FixedTableModel(logits, source, len(source) + fillers, settings.beam, longest)
    search = made(model, settings)
    search.start(limits)
    advance_until_done(search, search.advance, longest, given_up)
    assert model.positions == list(range(len(model.positions)))
    return search.results()
