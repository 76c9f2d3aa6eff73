"""The recurrent encoder-decoder, with attention or without: the family before the Transformer, behind its interface."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from openwork.models.interfaces import Seq2SeqModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.nn.cache import Selectable
from openwork.nn.embedding import initialise, tied_weights
from openwork.nn.masks import padding
from openwork.nn.recurrent import CellState, RecurrentEncoder
from openwork.nn.recurrent_decoders import (
    DotAttention,
    GeneralAttention,
    GlobalAttention,
    LuongDecoder,
    NoAttention,
    RecurrentDecoder,
    RecurrentMemory,
)
from openwork.nn.shapes import Hidden, Lengths, Source, StepAttention, StepLogits, Tokens


@dataclass(frozen=True)
class RecurrentState(Selectable):
    """The memory that the decoder attends to, and its cells after the tokens so far."""

    memory: RecurrentMemory
    cells: CellState


class RecurrentModel(Seq2SeqModel[RecurrentState]):
    """The recurrent encoder-decoder; its embeddings are not scaled."""

    def start(self, source: Source, source_lengths: Lengths) -> RecurrentState:
        x = self.embedding_dropout(self.source_embedding(source))
        memory, whole = self.encoder(x, source_lengths)
        return RecurrentState(*self.decoder.start(memory, whole, padding(source_lengths, source.shape[1])))

    def advance(self, tokens: Tokens, state: RecurrentState) -> tuple[Hidden, RecurrentState]:
        x = self.embedding_dropout(self.target_embedding(tokens))
        hidden, cells = self.decoder(x, state.memory, state.cells)
        return hidden, RecurrentState(state.memory, cells)

    def attend(self, tokens: Tokens, state: RecurrentState) -> tuple[StepLogits, StepAttention, RecurrentState]:
        """As `step`, with the weights of the attention.

        Without attention no source token counts for more than another in the one vector of the encoder, so each
        real one has the same weight, 1 / length: of maximal entropy, nothing on padding, neutral in a mean with
        another model's, and a coverage penalty that is against targets shorter than their source alone. No alignment
        can be read from it.
        """
        weights: list[Tensor] = []  # of one position each, as the decoder goes through them
        watching = self.decoder.attention.register_forward_hook(lambda _, __, output: weights.append(output[1]))
        try:
            logits, state = self.step(tokens, state)
        finally:
            watching.remove()
        return logits, torch.cat(weights, dim=1), state


def build_recurrent(settings: RecurrentSettings, source_vocabulary: int, target_vocabulary: int) -> RecurrentModel:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s = settings
    make = partial(nn.Embedding, embedding_dim=s.width)
    tables = tied_weights(s.tying, make, source_vocabulary, target_vocabulary)
    encoder = RecurrentEncoder(
        s.width, s.encoder_width, s.encoder_layers, s.dropout, s.cell, bidirectional=s.attention != "none"
    )
    model = RecurrentModel(tables, encoder, _decoder(s), s.dropout)
    initialise(model)
    return model


def _decoder(s: RecurrentSettings) -> RecurrentDecoder | LuongDecoder:
    if s.attention == "additive":
        return RecurrentDecoder(s.width, s.memory_width, s.score_width, s.decoder_layers, s.dropout, s.cell)
    looking: dict[str, Callable[[], GlobalAttention]] = {
        "dot": lambda: DotAttention(s.width),
        "general": lambda: GeneralAttention(s.width, s.memory_width),
        "none": NoAttention,
    }
    return LuongDecoder(s.width, s.encoder_width, s.decoder_layers, s.dropout, looking[s.attention](), s.cell)
