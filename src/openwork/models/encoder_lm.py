"""BERT: the Transformer's encoder with a head (Devlin et al. 2019), behind the interface of all families.

The start symbol stands before each source, as their [CLS]; the end symbol closes it, and parts it into segments, as
their [SEP].
"""

from abc import abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.models.encoder_lm_settings import EncoderSettings
from openwork.models.label_model import LabelModel, word_places
from openwork.models.parts import Parts
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.encoder import Encoder
from openwork.nn.initialise import initialise, output_matrix
from openwork.nn.kernels import Kernel, packed
from openwork.nn.kernels.recording import weights_of
from openwork.nn.masks import Mask
from openwork.nn.pooling import Pooler
from openwork.nn.positions import Positions
from openwork.text.symbols import SYMBOL_IDS


def segment_numbers(tokens: Int[Tensor, "batch position"], count: int) -> Int[Tensor, "batch position"]:
    """Which of `count` segments each token belongs to (Devlin et al. 2019, figure 2).

    An end symbol closes a segment and belongs to it; what stands behind the last segment counts to that one.
    """
    closing = (tokens == SYMBOL_IDS.end).long()
    return (closing.cumsum(dim=1) - closing).clamp(max=count - 1)


class EncoderModel(LabelModel):
    """Reads a source in both directions; `head` makes of the vectors of some positions what labels are told from.

    `segments`: the vectors that tell a source's segments from each other; None: nothing does. `output`, a parameter, is
    the matrix of the labels, and `bias` is added to their logits.
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        segments: nn.Embedding | None,
        positions: Positions,
        encoder: Encoder,
        head: nn.Module,
        output: nn.Parameter,
        dropout: float,
    ) -> None:
        super().__init__(embedding.table.num_embeddings)
        self.source_embedding = embedding
        self.segments = segments
        self.source_positions = positions
        self.embedding_dropout = Dropout(dropout)
        self.encoder = encoder
        self.head = head
        self.head_dropout = Dropout(dropout)
        self.output = output
        self.bias = nn.Parameter(torch.zeros(output.shape[0]))

    @property
    def longest(self) -> int | None:
        reached = self.source_positions.longest
        return None if reached is None else reached - 1  # the start symbol takes one

    @property
    def output_weight(self) -> Tensor:
        return self.output

    @property
    def output_bias(self) -> Tensor:
        return self.bias

    def encode(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch position width"]:
        """A vector for the start symbol and then one for each source token."""
        tokens = nn.functional.pad(source, (1, 0), value=SYMBOL_IDS.start)
        x = self.source_embedding(tokens)
        if self.segments is not None:
            x = x + self.segments(segment_numbers(tokens, self.segments.num_embeddings))
        x = self.embedding_dropout(self.source_positions(x))
        return self.encoder(x, Mask(key_lengths=source_lengths + 1))

    @abstractmethod
    def told_from(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Int[Tensor, "batch place"]:
        """From which position's vector each place of the target is told; the start symbol is at position 0."""

    def read(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch place width"]:
        vectors = self.encode(source, source_lengths)
        at = self.told_from(source, source_lengths)[:, :, None].expand(-1, -1, vectors.shape[2])
        return self.head_dropout(self.head(vectors.gather(1, at)))

    def look(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch place source"]:
        """The last layer's attention, the mean of its heads, without its share for the start symbol."""
        with weights_of(self.encoder.layers[-1].self_attention) as kept:  # type: ignore[arg-type]
            self.encode(source, source_lengths)
        weights = kept[0].mean(dim=1)[:, :, 1:]
        at = self.told_from(source, source_lengths)[:, :, None].expand(-1, -1, weights.shape[2])
        chosen = weights.gather(1, at)
        return chosen / chosen.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(chosen.dtype).tiny)


class Classifier(EncoderModel):
    """One label for a source, from the vector of the start symbol (Devlin et al. 2019, section 4.1)."""

    def told_from(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Int[Tensor, "batch place"]:
        return torch.stack([torch.zeros_like(source_lengths), source_lengths], dim=1)


class Tagger(EncoderModel):
    """One label for each word of a source, from the vector of its first piece (Devlin et al. 2019, section 5.3)."""

    def told_from(
        self, source: Int[Tensor, "batch source"], source_lengths: Int[Tensor, "batch"]
    ) -> Int[Tensor, "batch place"]:
        return word_places(source, source_lengths, self.begins) + 1


def build_encoder(
    settings: EncoderSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> EncoderModel:
    """The model in the sizes and with the options of `settings`, with fresh weights from torch's generator."""
    s, parts = settings, Parts(settings, kernel)
    kind = {"classify": Classifier, "tag": Tagger}[s.task]
    model = kind(
        parts.embedding(source_vocabulary),
        nn.Embedding(s.segments, s.stream_start) if s.segments else None,
        parts.positions(),
        Encoder([parts.encoder_layer(layer) for layer in range(s.layers)], parts.final_norm()),
        Pooler(s.width) if s.task == "classify" else nn.Identity(),
        output_matrix(target_vocabulary, s.width),
        s.dropout,
    )
    initialise(model)
    return model
