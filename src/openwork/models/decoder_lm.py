"""A language model of decoder layers alone: GPT, GPT-2, LLaMA (Radford et al. 2018 and 2019; Touvron et al. 2023).

The source is a prompt that the target continues, both in one row (`prompts.py`).

Prompts of several lengths are one batch with their padding on the left. So every row goes on in the same column,
the distance of two tokens is that of their columns, and only positions that are added to the embeddings need to
know where a row begins.
"""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.models.interfaces import Packed, PackingModel, SequenceModel
from openwork.models.prompts import in_place_of_start, read_prompts
from openwork.nn.attention import first_packing_problem
from openwork.nn.cache import PastPositions, Selectable
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.layers import CausalStack
from openwork.nn.masks import CAUSAL, Mask, Segments
from openwork.nn.normalisation import has_batch_norms, real_positions
from openwork.nn.positions import Positions
from openwork.nn.recording import recording
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens


@dataclass(frozen=True)
class DecoderState(Selectable):
    """Keys and values of all columns so far, where each row begins, and the token that is still to be read.

    `starts` (rows): the first column of each row that is not padding; None: all rows begin in column 0. `pending`
    (rows): read in the place of the next token; None: it was read. `prompt`: positions of the sources, ends included.
    """

    pasts: tuple[PastPositions | None, ...]
    prompt: int
    pending: Tensor | None
    starts: Tensor | None = None
    column: int = 0


class DecoderLM(SequenceModel[DecoderState], PackingModel):
    """Continues a prompt; with an empty prompt it generates a text from its start.

    `narrow` projects the layers' vectors to the width of the embedding. `separate_prompt`: a START follows each prompt
    too.
    """

    continues = True
    separate_prompt: bool = False

    def __init__(
        self,
        embedding: TokenEmbedding,
        positions: Positions,
        stack: CausalStack,
        narrow: nn.Module,
        output: Tensor,
        dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.positions = positions
        self.embedding_dropout = Dropout(dropout)
        self.stack = stack
        self.narrow = narrow
        self.output = output
        self.bias: nn.Parameter | None = None

    @property
    def maximum_length(self) -> int | None:
        """Of prompt and target together; the mark has a position as well."""
        most = self.positions.maximum_length
        return None if most is None else most - self.separate_prompt

    def start(self, source: Source, source_lengths: Lengths) -> DecoderState:
        """Reads START and each prompt up to the token that is kept pending; the source's end is not read."""
        prompts = read_prompts(source, source_lengths, marked=self.separate_prompt)
        empty = DecoderState((None,) * len(self.stack.layers), source.shape[1], prompts.pending)
        if prompts.tokens.shape[1] == 0:
            return empty
        state = self._read(prompts.tokens, replace(empty, starts=prompts.starts))[1]
        return replace(state, pending=prompts.pending)

    def advance(self, tokens: Tokens, state: DecoderState) -> tuple[Hidden, DecoderState]:
        return self._read(in_place_of_start(tokens, state.pending), state)

    def _read(self, tokens: Tokens, state: DecoderState) -> tuple[Hidden, DecoderState]:
        x, mask = self.embedding(tokens), CAUSAL
        after = state.column + tokens.shape[1]
        with real_positions(tokens != SYMBOL_IDS.pad):
            if state.starts is None:
                x = self.positions(x, state.column)
            else:
                places = torch.arange(state.column, after, device=tokens.device) - state.starts[:, None]
                x = self.positions.at(x, places.clamp(min=0), after)
                mask = Mask(is_causal=True, key_starts=state.starts)
            x, pasts = self.stack(self.embedding_dropout(x), state.pasts, mask)
        return self.narrow(x), replace(state, pasts=pasts, pending=None, column=after)

    @property
    def weighs_tokens(self) -> bool:
        return self.stack.layers[-1].self_attention.weighs_tokens  # type: ignore[union-attr, return-value]

    def attend(self, tokens: Tokens, state: DecoderState) -> tuple[StepLogits, StepAttention, DecoderState]:
        """The weights are those of the last layer's self-attention on the prompt's pieces, the mean of its heads.

        All the rest, on START and on what was written so far, is counted to the place of the source's end.
        """
        with recording(self.stack.layers[-1].self_attention) as weights:  # type: ignore[arg-type]
            logits, state = self.step(tokens, state)
        found = weights[""][-1].mean(dim=1)
        source = torch.arange(state.prompt, device=tokens.device)
        starts = tokens.new_zeros(tokens.shape[0]) if state.starts is None else state.starts
        lengths = (state.prompt - 1 - starts).clamp(min=0)[:, None]
        columns = (starts[:, None] + 1 + source).clamp(max=found.shape[-1] - 1)  # START precedes the prompt
        on_prompt = found.gather(2, columns[:, None].expand(-1, found.shape[1], -1))
        on_prompt = on_prompt.masked_fill((source >= lengths)[:, None], 0.0)
        rest = 1 - on_prompt.sum(-1, keepdim=True)
        return logits, torch.where((source == lengths)[:, None], rest, on_prompt), state

    def packing_problem(self) -> str | None:
        if has_batch_norms(self):  # one row of both would have other statistics
            return msg("prompts and targets are read one after the other, and batch norms take statistics of each")
        return first_packing_problem(self)

    def forward_packed(self, source: Packed, target_input: Packed) -> Float[Tensor, "1 positions width"]:
        """Each prompt, with its target's START before it and without its end, precedes the rest of its target."""
        row, segments, places = _one_row(source, target_input, marked=self.separate_prompt)
        x = self.positions.along(self.embedding(row[None]), segments)
        mask = Mask(is_causal=True, segments=(segments, segments))
        x = self.stack(self.embedding_dropout(x), (None,) * len(self.stack.layers), mask)[0]
        return self.narrow(x.index_select(1, places))


def _one_row(
    source: Packed, target: Packed, *, marked: bool
) -> tuple[Int[Tensor, "columns"], Segments, Int[Tensor, "target_positions"]]:
    """Prompts and targets as one packed row, and the column of each target token.

    A prompt's last token replaces its target's START, as in `advance`, unless START marks it. What the ends
    of the sources leave over is one more sentence of padding, which no other sees: how many there are is known to the
    device alone.
    """
    own, targets = source.segments, target.segments
    prompts = (own.starts.diff() - 1).clamp(min=0).long()
    if marked:
        prompts = prompts + (prompts > 0)
    lengths = nn.functional.pad((prompts + targets.starts.diff()).cumsum(0), (1, 0))
    size, sentences = own.places.shape[0] + targets.places.shape[0], prompts.shape[0]
    starts = torch.cat((lengths, lengths.new_full((1,), size)))
    source_numbers, target_numbers = own.numbers, targets.numbers
    places = starts[target_numbers] + prompts[target_numbers] + targets.places
    row = target.tokens.new_full((size,), SYMBOL_IDS.pad)
    # A source's end falls on its target's second token, or on the next sentence's START: both are written after it.
    row[(starts[source_numbers] + 1 + own.places).clamp(max=size - 1)] = source.tokens[0]
    is_start = (targets.places == 0) & (prompts[target_numbers] > 0)
    row[torch.where(is_start, starts[target_numbers], places)] = target.tokens[0]
    if marked:
        row[places - targets.places] = SYMBOL_IDS.start
    columns = torch.arange(size, device=row.device)
    numbers = torch.bucketize(columns, starts, right=True) - 1
    within = (columns - starts[numbers]).masked_fill(numbers >= sentences, 0)
    return (
        row,
        Segments(starts.to(torch.int32), within, max(own.maximum_length + targets.maximum_length, sentences)),
        places,
    )
