"""The Transformer: encoder, decoder, embeddings and output (figure 1 of the paper)."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.base.symbols import SYMBOL_IDS
from openwork.models.interfaces import EncodingModel, Packed, PackingModel, Seq2SeqModel
from openwork.nn.attention import first_packing_problem
from openwork.nn.cache import Selectable
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.layers import Decoder, Encoder, LayerCache
from openwork.nn.masks import Mask, real
from openwork.nn.normalisation import real_positions
from openwork.nn.positions import Positions
from openwork.nn.recording import recording
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens


@dataclass(frozen=True)
class TransformerState(Selectable):
    """The decoder's caches, the lengths of the sources, and how many target tokens have been read."""

    caches: tuple[LayerCache, ...]
    source_lengths: Tensor
    position: int = 0


class Transformer(Seq2SeqModel[TransformerState], EncodingModel, PackingModel):
    """The paper's model. `narrow` projects the decoder's vectors to the width of the embeddings, if it is another."""

    def __init__(
        self,
        tables: tuple[nn.Module, TokenEmbedding, Tensor],
        positions: tuple[Positions, Positions],
        encoder: Encoder,
        decoder: Decoder,
        narrow: nn.Module,
        dropout: float,
    ) -> None:
        super().__init__(tables, encoder, decoder, dropout, positions)
        self.narrow = narrow
        self.bias: nn.Parameter | None = None
        self.starts_with_zeros = False

    @torch.no_grad()
    def make_start_zero(self) -> None:
        """The vector before the first token becomes zeros, and training leaves it so (`training/kept_zeros.py`)."""
        self.starts_with_zeros = True
        self.target_embedding.table.weight[SYMBOL_IDS.start] = 0

    @property
    def zero_rows(self) -> list[tuple[nn.Parameter, int]]:
        return [(self.target_embedding.table.weight, SYMBOL_IDS.start)] if self.starts_with_zeros else []

    @property
    def maximum_length(self) -> int | None:
        return self.source_positions.maximum_length

    def encode(self, source: Source, source_lengths: Lengths) -> Float[Tensor, "batch source width"]:
        """The memory: one vector for each source token."""
        with real_positions(real(source_lengths, source.shape[1])):
            x = self.embedding_dropout(self.source_positions(self.source_embedding(source)))
            return self.encoder(x, Mask(key_lengths=source_lengths))

    def start(self, source: Source, source_lengths: Lengths) -> TransformerState:
        return TransformerState(self.decoder.start(self.encode(source, source_lengths)), source_lengths)

    def advance(self, tokens: Tokens, state: TransformerState) -> tuple[Hidden, TransformerState]:
        with real_positions(tokens != SYMBOL_IDS.pad):
            x = self.embedding_dropout(self.target_positions(self.target_embedding(tokens), state.position))
            x, caches = self.decoder(x, state.caches, Mask(key_lengths=state.source_lengths))
        return self.narrow(x), TransformerState(caches, state.source_lengths, state.position + tokens.shape[1])

    def attend(self, tokens: Tokens, state: TransformerState) -> tuple[StepLogits, StepAttention, TransformerState]:
        with recording(self.decoder.layers[-1].cross_attention) as weights:  # type: ignore[arg-type]
            logits, state = self.step(tokens, state)
        return logits, weights[""][-1].mean(dim=1), state

    def packing_problem(self) -> str | None:
        return first_packing_problem(self)

    def forward_packed(self, source: Packed, target_input: Packed) -> Float[Tensor, "1 positions width"]:
        """Rotary positions count along the whole row: what counts is the distance, which is the same."""
        with real_positions(source.tokens != SYMBOL_IDS.pad):
            row = self.source_positions.along(self.source_embedding(source.tokens), source.segments)
            own = Mask(segments=(source.segments, source.segments))
            caches = self.decoder.start(self.encoder(self.embedding_dropout(row), own))
        earlier = Mask(is_causal=True, segments=(target_input.segments, target_input.segments))
        others = Mask(segments=(target_input.segments, source.segments))
        with real_positions(target_input.tokens != SYMBOL_IDS.pad):
            row = self.target_positions.along(self.target_embedding(target_input.tokens), target_input.segments)
            x, _ = self.decoder(self.embedding_dropout(row), caches, others, earlier)
        return self.narrow(x)
