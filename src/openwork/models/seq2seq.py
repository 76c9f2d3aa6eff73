"""The Transformer: encoder, decoder, embeddings and output (figure 1 of the paper)."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor

from openwork.models.interfaces import SequenceModel
from openwork.nn.decoder import Decoder, LayerCache
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.encoder import Encoder
from openwork.nn.masks import Mask
from openwork.nn.positions import SinusoidalPositions


@dataclass(frozen=True)
class TransformerState:
    """The decoder's caches, the lengths of the sources, and how many target tokens have been read."""

    caches: tuple[LayerCache, ...]
    source_lengths: Tensor
    position: int = 0

    def select(self, rows: Int[Tensor, "rows"]) -> "TransformerState":
        """The given rows, in the given order."""
        caches = tuple(cache.select(rows) for cache in self.caches)
        return TransformerState(caches, self.source_lengths.index_select(0, rows), self.position)


class Transformer(SequenceModel[TransformerState]):
    """Reads a source with the encoder; the decoder tells what follows each target token.

    `output`, a parameter, is the matrix of the output layer; with tied weights it is the target embedding's own.
    """

    def __init__(
        self,
        source_embedding: TokenEmbedding,
        target_embedding: TokenEmbedding,
        encoder: Encoder,
        decoder: Decoder,
        output: Tensor,
        dropout: float,
    ) -> None:
        super().__init__()
        width = target_embedding.table.embedding_dim
        self.source_embedding = source_embedding
        self.target_embedding = target_embedding
        self.positions = SinusoidalPositions(width)
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.decoder = decoder
        self.output = output

    @property
    def output_weight(self) -> Tensor:
        return self.output

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch source width"]:
        """The memory: one vector for each source token."""
        x = self.embedding_dropout(self.positions(self.source_embedding(source)))
        return self.encoder(x, Mask(key_lengths=source_lengths))

    def start(self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]) -> TransformerState:
        return TransformerState(self.decoder.start(self.encode(source, source_lengths)), source_lengths)

    def advance(
        self, tokens: Int[Tensor, "rows positions"], state: TransformerState
    ) -> tuple[Float[Tensor, "rows positions width"], TransformerState]:
        x = self.embedding_dropout(self.positions(self.target_embedding(tokens), state.position))
        x, caches = self.decoder(x, state.caches, Mask(key_lengths=state.source_lengths))
        return x, TransformerState(caches, state.source_lengths, state.position + tokens.shape[1])
