"""The recurrent encoder-decoder, with attention or without: the family before the Transformer, behind its interface."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor, nn

from openwork.models.interfaces import EncodingModel, Seq2SeqModel
from openwork.models.label_model import LabelMatrix, at_places, word_places
from openwork.models.recurrent_settings import RecurrentLabelsSettings, RecurrentSettings
from openwork.nn.cache import Selectable
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import initialise, output_matrix, tied_weights
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
from openwork.nn.shapes import Hidden, Lengths, PlaceVectors, Source, StepAttention, StepLogits, Tokens


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
    return initialise(RecurrentModel(tables, encoder, _decoder(s), s.dropout))


def _decoder(s: RecurrentSettings) -> RecurrentDecoder | LuongDecoder:
    if s.attention == "additive":
        return RecurrentDecoder(s.width, s.memory_width, s.score_width, s.decoder_layers, s.dropout, s.cell)
    looking: dict[str, Callable[[], GlobalAttention]] = {
        "dot": lambda: DotAttention(s.width),
        "general": lambda: GeneralAttention(s.width, s.memory_width),
        "none": NoAttention,
    }
    return LuongDecoder(s.width, s.encoder_width, s.decoder_layers, s.dropout, looking[s.attention](), s.cell)


class RecurrentLabels(LabelMatrix, EncodingModel):
    """Predicts a label from the state of the cells at a position; `output` is the labels' matrix.

    The end of the target is predicted from the position of the source's end symbol.
    """

    def __init__(
        self, embedding: nn.Embedding, encoder: RecurrentEncoder, output: nn.Parameter, dropout: float
    ) -> None:
        super().__init__(embedding.num_embeddings)
        self.source_embedding = embedding
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.label_dropout = Dropout(dropout)
        self.set_output(output)

    def encode(self, source: Source, source_lengths: Lengths) -> Float[Tensor, "batch source width"]:
        """What is known at each source token."""
        return self.encoder(self.embedding_dropout(self.source_embedding(source)), source_lengths)[0]

    @abstractmethod
    def places_of(
        self, memory: Float[Tensor, "batch source width"], source: Tensor, source_lengths: Tensor
    ) -> PlaceVectors:
        """The vector of each place of the target, from what is known at each source token."""

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        return self.label_dropout(self.places_of(self.encode(source, source_lengths), source, source_lengths))


class RecurrentTagger(RecurrentLabels):
    """One label for each word of a source, from the position of its first piece."""

    def places_of(self, memory: Tensor, source: Tensor, source_lengths: Tensor) -> Tensor:
        return at_places(memory, word_places(source, source_lengths, self.begins))


class RecurrentClassifier(RecurrentLabels):
    """One label for a source, from what each direction knows when it has read it all."""

    def __init__(
        self, embedding: nn.Embedding, encoder: RecurrentEncoder, output: nn.Parameter, dropout: float
    ) -> None:
        super().__init__(embedding, encoder, output, dropout)
        self.summary = nn.Linear(encoder.memory_width, encoder.memory_width)

    def places_of(self, memory: Tensor, source: Tensor, source_lengths: Tensor) -> Tensor:
        """First tanh(W [forwards; backwards] + b), then what is known at the end symbol.

        The layer keeps the two apart, which one direction would otherwise predict from one vector.
        """
        end = at_places(memory, (source_lengths - 1).clamp(min=0)[:, None])
        width = self.encoder.width
        whole = torch.cat([end[..., :width], memory[:, :1, width:]], dim=-1)
        return torch.cat([torch.tanh(self.summary(whole)), end], dim=1)


def build_recurrent_labels(
    settings: RecurrentLabelsSettings, source_vocabulary: int, target_vocabulary: int
) -> RecurrentLabels:
    """The model in the sizes of `settings`, with fresh weights from torch's generator."""
    s = settings
    encoder = RecurrentEncoder(s.width, s.width, s.layers, s.dropout, s.cell, bidirectional=s.bidirectional)
    kind = {"tag": RecurrentTagger, "classify": RecurrentClassifier}[s.task]
    output = output_matrix(target_vocabulary, encoder.memory_width)
    return initialise(kind(nn.Embedding(source_vocabulary, s.width), encoder, output, s.dropout))
