"""Beam search as functions of tensors, from which a graph can be made.

    SearchStart    reads the sources                         before the loop
    SearchStep     one more token for each hypothesis        its body

It is `decoding/beam.py` without branches: a graph has none. So the places of a beam are always all there, those that
nothing takes with log-probability -inf; a sentence that is done stays in the batch, and nothing of it is used. The
graph's own operator finds the best entries, of equals the first.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import is_settled, length_limits, penalty_of
from openwork.decoding.settings import DecodingSettings
from openwork.models.seq2seq import Transformer, TransformerState
from openwork.nn.cache import KeyValue
from openwork.nn.layers import LayerCache
from openwork.nn.shapes import Lengths, Source


class Found(NamedTuple):
    """The best hypotheses so far that have ended or were stopped, best first, without start and end symbol.

    A place that nothing takes has score -inf and padding. `counts`: how many have ended.
    """

    tokens: Int[Tensor, "sentence kept position"]
    scores: Float[Tensor, "sentence kept"]
    counts: Int[Tensor, "sentence"]


class Carried(NamedTuple):
    """What a step takes from the one before."""

    tokens: Int[Tensor, "sentence beam position"]  # the start symbol first
    totals: Float[Tensor, "sentence beam"]  # log-probabilities
    found: Found
    is_open: Bool[Tensor, "sentence"]  # whether a sentence is still searched
    past: list[Tensor]  # keys and values of each layer's positions so far (row, head, position, head width)


class Constant(NamedTuple):
    """What is the same in all steps."""

    lengths: Int[Tensor, "row"]  # of the sources
    limits: Int[Tensor, "sentence"]  # of the targets
    memory: list[Tensor]  # keys and values of each layer's memory (row, head, source, head width)


class SearchStart(nn.Module):
    """Reads the sources."""

    def __init__(self, model: Transformer, settings: DecodingSettings) -> None:
        super().__init__()
        self.model, self.settings = model, settings

    def forward(self, source: Source, source_lengths: Lengths) -> tuple[Tensor, Carried, Constant]:
        """Whether there is anything to search, and what the first step needs."""
        beam, batch = self.settings.beam, source.shape[0]
        caches = self.model.start(source, source_lengths).caches
        memory = [part.repeat_interleave(beam, 0) for one in caches for part in (one.memory.key, one.memory.value)]
        past = [_nothing(part) for one in self.model.decoder.layers for part in _own_widths(one, memory[0])]
        scores = memory[0].new_full((batch, kept(self.settings)), -torch.inf)
        first = torch.tensor([0.0] + [-torch.inf] * (beam - 1), dtype=scores.dtype)
        found = Found(source_lengths.new_zeros(batch, scores.shape[1], 0), scores, torch.zeros_like(source_lengths))
        is_open = torch.ones_like(source_lengths, dtype=torch.bool)
        tokens = source_lengths.new_full((batch, beam, 1), SYMBOL_IDS.start)
        constant = Constant(
            source_lengths.repeat_interleave(beam), length_limits(source_lengths, self.settings), memory
        )
        return is_open.any(), Carried(tokens, first.expand(batch, beam), found, is_open, past), constant


class SearchStep(nn.Module):
    """One more token for each hypothesis."""

    penalties: Tensor
    forbidding: Tensor

    def __init__(self, model: Transformer, settings: DecodingSettings) -> None:
        super().__init__()
        self.model, self.settings = model, settings
        lengths = range(settings.maximum_length + 1)
        penalties = torch.tensor([penalty_of(length, settings) for length in lengths])
        self.register_buffer("penalties", penalties, persistent=False)
        forbidding = torch.zeros(model.output_weight.shape[0])
        forbidding[list(SYMBOL_IDS.forbidden)] = -torch.inf  # as `decoding.scoring.allow`
        self.register_buffer("forbidding", forbidding, persistent=False)

    def forward(self, carried: Carried, constant: Constant) -> tuple[Tensor, Carried]:
        """Whether another step is needed, and what it needs."""
        beam, length = self.settings.beam, carried.tokens.shape[2]
        logits, past = self._logits(carried, constant)
        log_probabilities = (logits + self.forbidding).log_softmax(-1).unflatten(0, (-1, beam))
        values, places = (log_probabilities + carried.totals[..., None]).flatten(1).topk(2 * beam)
        parents, tokens = places // logits.shape[-1], places % logits.shape[-1]
        histories = chosen(carried.tokens, parents)

        ended = tokens == SYMBOL_IDS.end
        finished = ended & (torch.arange(2 * beam) < beam) & carried.is_open[:, None] & (values > -torch.inf)
        penalty = self.penalties[length]
        found = merged(carried.found, histories[:, :, 1:], values / penalty, finished)
        found = found._replace(
            tokens=nn.functional.pad(found.tokens, (0, 1), value=SYMBOL_IDS.pad), counts=found.counts + finished.sum(-1)
        )

        totals, order = values.masked_fill(ended, -torch.inf).topk(beam)
        grown = torch.cat([chosen(histories, order), tokens.gather(1, order)[..., None]], dim=-1)
        at_limit = constant.limits <= length
        done = self._is_settled(found, totals[:, 0], length, constant.limits) | at_limit | (totals[:, 0] == -torch.inf)
        stopped = found.counts == 0
        if self.settings.unfinished == "ranked":
            stopped = stopped | at_limit
        stopped = stopped & done & carried.is_open
        found = merged(found, grown[:, :, 1:], totals / penalty, stopped[:, None] & (totals > -torch.inf))
        is_open = carried.is_open & ~done

        if beam > 1:
            rows = (torch.arange(parents.shape[0])[:, None] * beam + parents.gather(1, order)).flatten()
            past = [part.index_select(0, rows) for part in past]
        return is_open.any(), Carried(grown, totals, found, is_open, past)

    def _logits(self, carried: Carried, constant: Constant) -> tuple[Float[Tensor, "row vocabulary"], list[Tensor]]:
        """Of the next token of each row, and the keys and values with the newest position."""
        caches = tuple(
            LayerCache(KeyValue(*memory), KeyValue(*past))
            for memory, past in zip(pairs(constant.memory), pairs(carried.past), strict=True)
        )
        state = TransformerState(caches, constant.lengths, carried.past[0].shape[2])
        logits, state = self.model.step(carried.tokens[:, :, -1].flatten()[:, None], state)
        grown = [one.past for one in state.caches]
        return logits[:, -1], [part for one in grown for part in (one.key, one.value)]  # type: ignore[union-attr]

    def _is_settled(self, found: Found, hope: Tensor, length: int, limits: Tensor) -> Bool[Tensor, "sentence"]:
        best, worst = found.scores[:, self.settings.best - 1], found.scores[:, -1]
        now, last = self.penalties[length], self.penalties[limits]
        return is_settled(self.settings, found.counts, best, worst, hope, now, last)  # type: ignore[no-any-return]


def kept(settings: DecodingSettings) -> int:
    """How many found hypotheses a search has to know; see `Finished` in `decoding/beam.py`."""
    return settings.best if settings.stopping == "enough" else settings.beam


def chosen(
    tokens: Int[Tensor, "sentence place position"], places: Int[Tensor, "sentence chosen"]
) -> Int[Tensor, "sentence chosen position"]:
    """The tokens at the given places."""
    return tokens.gather(1, places[..., None].expand(-1, -1, tokens.shape[2]))


def merged(
    found: Found,
    tokens: Int[Tensor, "sentence more position"],
    scores: Float[Tensor, "sentence more"],
    taken: Bool[Tensor, "sentence more"],
) -> Found:
    """The best of those found and of the ones that are taken; of equals those found earlier."""
    every = torch.cat([found.scores, torch.where(taken, scores, -torch.inf)], dim=1)
    best, order = every.topk(found.scores.shape[1])
    written = chosen(torch.cat([found.tokens, tokens], dim=1), order)
    return found._replace(tokens=written.masked_fill((best == -torch.inf)[..., None], SYMBOL_IDS.pad), scores=best)


def pairs(parts: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    """Keys and values beside each other."""
    return list(zip(parts[::2], parts[1::2], strict=True))


def _own_widths(layer: nn.Module, like: Tensor) -> tuple[Tensor, Tensor]:
    """A key and a value of the layer's self-attention for each row, whatever numbers."""
    heads = layer.self_attention.heads  # type: ignore[union-attr]
    count = heads.key_value_count or heads.count
    return tuple(like.new_zeros(like.shape[0], count, 1, width) for width in (heads.width, heads.value_width))  # type: ignore[return-value]


def _nothing(part: Tensor) -> Tensor:
    return part[:, :, :0]
