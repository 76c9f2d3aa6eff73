"""The LSTM encoder-decoder with additive attention: the family before the Transformer, behind the same interface."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.nn.dropout import Dropout
from openwork.nn.initialise import initialise, output_matrix
from openwork.nn.masks import padding
from openwork.nn.recurrent import CellState, Memory, RecurrentDecoder, RecurrentEncoder


@dataclass(frozen=True)
class RecurrentState:
    """What the decoder may look at, and its cells after the tokens so far."""

    memory: Memory
    cells: CellState

    def select(self, rows: Int[Tensor, "rows"]) -> "RecurrentState":
        """The given rows, in the given order; a row may come several times."""
        return RecurrentState(self.memory.select(rows), self.cells.select(rows))


class RecurrentModel(SequenceModel[RecurrentState]):
    """Reads a source with the encoder; the decoder tells what follows each target token.

    Embeddings are not scaled. `output`, a parameter, is the matrix of the output layer; with tied weights it
    is the target embedding's own.
    """

    def __init__(
        self,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        encoder: RecurrentEncoder,
        decoder: RecurrentDecoder,
        output: Tensor,
        dropout: float,
    ) -> None:
        super().__init__()
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    @property
    def output_weight(self) -> Tensor:
        return self.output

    def start(self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]) -> RecurrentState:
        x = self.embedding_dropout(self.source_embedding(source))
        memory, backward = self.encoder(x, source_lengths)
        return RecurrentState(*self.decoder.start(memory, backward, padding(source_lengths, source.shape[1])))

    def advance(
        self, tokens: Int[Tensor, "rows positions"], state: RecurrentState
    ) -> tuple[Float[Tensor, "rows positions width"], RecurrentState]:
        x = self.embedding_dropout(self.target_embedding(tokens))
        hidden, cells = self.decoder(x, state.memory, state.cells)
        return hidden, RecurrentState(state.memory, cells)

    def attend(
        self, tokens: Int[Tensor, "rows positions"], state: RecurrentState
    ) -> tuple[Float[Tensor, "rows positions vocabulary"], Float[Tensor, "rows positions source"], RecurrentState]:
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
    target_embedding = nn.Embedding(target_vocabulary, s.width)
    source_embedding = target_embedding if s.tying == "three-way" else nn.Embedding(source_vocabulary, s.width)
    output = output_matrix(target_vocabulary, s.width) if s.tying == "none" else target_embedding.weight
    encoder = RecurrentEncoder(s.width, s.width, s.encoder_layers, s.dropout)
    decoder = RecurrentDecoder(s.width, 2 * s.width, s.score_width, s.decoder_layers, s.dropout)
    model = RecurrentModel(source_embedding, target_embedding, encoder, decoder, output, s.dropout)
    initialise(model)
    return model
