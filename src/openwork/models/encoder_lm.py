"""BERT: the Transformer's encoder with a head (Devlin et al. 2019), behind the interface of all families.

The start symbol precedes each source, as their [CLS]; the end symbol closes it and its segments, as their [SEP]. Each
task is a class: from which positions it predicts the places of the target, and what it makes of their vectors.
"""

from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor, nn

from openwork.base.errors import ConfigError
from openwork.base.symbols import SYMBOL_IDS
from openwork.models.interfaces import EncodingModel, MaskedModel
from openwork.models.label_model import (
    LabelMatrix,
    LabelModel,
    LabelState,
    at_places,
    places_from,
    word_places,
)
from openwork.models.parts import Parts
from openwork.models.settings import EncoderSettings
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding, initialise, output_matrix, with_start
from openwork.nn.features import FeatureEmbedding
from openwork.nn.kernels import Kernel, packed
from openwork.nn.layers import Encoder
from openwork.nn.masks import Mask, real
from openwork.nn.normalisation import real_positions
from openwork.nn.pooling import Pooler, Transform, mean_of
from openwork.nn.positions import Positions
from openwork.nn.recording import recording
from openwork.nn.shapes import AnySource, Lengths, PlaceVectors, Source, StepAttention, StepLogits, Tokens, Vectors

SPANS = 3  # of a position: how well an answer begins there, ends there, and has ended
NEVER = -1e4  # a logit whose probability is zero, and which no type of numbers makes infinite


def segment_numbers(tokens: Int[Tensor, "batch position"], count: int) -> Int[Tensor, "batch position"]:
    """Which of `count` segments each token belongs to (Devlin et al. 2019, figure 2).

    An end symbol closes a segment and belongs to it; tokens after the last segment count as part of it.
    """
    closing = (tokens == SYMBOL_IDS.end).long()
    return (closing.cumsum(dim=1) - closing).clamp(max=count - 1)


@dataclass(frozen=True)
class SourceReader:
    """The encoder without a head. `segments`: an embedding of the segments of a source, or None.

    `embedding`: of pieces, or of numbers; it puts the vector of the start in front.
    """

    embedding: TokenEmbedding | FeatureEmbedding
    segments: nn.Embedding | None
    positions: Positions
    encoder: Encoder
    dropout: float


class EncoderModel(LabelModel, EncodingModel):
    """Reads a source in both directions; the subclasses predict something of it."""

    def __init__(self, reader: SourceReader) -> None:
        super().__init__(reader.embedding.pieces)
        self.source_embedding = reader.embedding
        self.segments = reader.segments
        self.source_positions = reader.positions
        self.embedding_dropout = Dropout(reader.dropout)
        self.encoder = reader.encoder
        self.head_dropout = Dropout(reader.dropout)

    @property
    def maximum_length(self) -> int | None:
        reached = self.source_positions.maximum_length
        return None if reached is None else reached - 1  # the start symbol takes one

    def encode(self, source: AnySource, source_lengths: Lengths) -> Vectors:
        """A vector for the start symbol and then one for each source token."""
        x = self.source_embedding.after_start(source)
        if self.segments is not None:
            x = x + self.segments(segment_numbers(with_start(source), self.segments.num_embeddings))
        with real_positions(real(source_lengths + 1, x.shape[1])):
            x = self.embedding_dropout(self.source_positions(x))
            return self.encoder(x, Mask(key_lengths=source_lengths + 1))

    def predicted_from(self, source: AnySource, source_lengths: Lengths) -> Int[Tensor, "batch place"]:
        """The position whose vector predicts each place of the target; the start symbol is at position 0."""
        return torch.zeros_like(source_lengths)[:, None]

    def chosen(self, source: AnySource, source_lengths: Lengths) -> PlaceVectors:
        """The vectors that predict the places of the target."""
        return at_places(self.encode(source, source_lengths), self.predicted_from(source, source_lengths))

    @property
    def weighs_tokens(self) -> bool:
        return self.encoder.layers[-1].self_attention.weighs_tokens  # type: ignore[union-attr, return-value]

    def attend(self, tokens: Tokens, state: LabelState) -> tuple[StepLogits, StepAttention, LabelState]:
        """The weights are those of the last layer, without its share for the start symbol."""
        with recording(self.encoder.layers[-1].self_attention) as kept:  # type: ignore[arg-type]
            self.encode(state.source, state.source_lengths)
        places = self.predicted_from(state.source, state.source_lengths)
        weights = at_places(kept[""][-1].mean(dim=1)[:, :, 1:], places)
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
        logits, after = self.step(tokens, state)
        return logits, places_from(weights, state.position, tokens.shape[1]), after


class PieceHead(EncoderModel):
    """Predicts pieces of the source's vocabulary, by the matrix of the embedding."""

    @property
    def output_weight(self) -> Tensor:
        return cast(TokenEmbedding, self.source_embedding).table.weight  # it reads pieces


class SequenceClassifier(EncoderModel, LabelMatrix):
    """One label for a source, from the vector of the start symbol (Devlin et al. 2019, section 4.1)."""

    def __init__(self, reader: SourceReader, output: nn.Parameter, pooler: nn.Module) -> None:
        super().__init__(reader)
        self.set_output(output)
        self.pooler = pooler

    def predicted_from(self, source: AnySource, source_lengths: Lengths) -> Int[Tensor, "batch place"]:
        return torch.stack([torch.zeros_like(source_lengths), source_lengths], dim=1)

    def read(self, source: AnySource, source_lengths: Lengths) -> PlaceVectors:
        return self.head_dropout(self.pooler(self.chosen(source, source_lengths)))


class TokenClassifier(EncoderModel, LabelMatrix):
    """One label for each word of a source, from the vector of its first piece (Devlin et al. 2019, section 5.3)."""

    def __init__(self, reader: SourceReader, output: nn.Parameter) -> None:
        super().__init__(reader)
        self.set_output(output)

    def predicted_from(self, source: Source, source_lengths: Lengths) -> Int[Tensor, "batch place"]:
        return word_places(source, source_lengths, self.begins) + 1

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        return self.head_dropout(self.chosen(source, source_lengths))


class MaskedLM(PieceHead, MaskedModel):
    """Restores masked pieces of the source, each from its own position (Devlin et al. 2019, section 3.1).

    `mask_piece` replaces what is masked. The output matrix is the embedding's; `bias` is added to the logits.
    """

    def __init__(self, reader: SourceReader, transform: Transform, mask_piece: int) -> None:
        super().__init__(reader)
        self.transform = transform
        self.mask_piece = mask_piece
        self.bias = nn.Parameter(torch.zeros(self.begins.shape[0]))

    def predicted_from(self, source: Source, source_lengths: Lengths) -> Int[Tensor, "batch place"]:
        positions = torch.arange(1, source.shape[1] + 1, device=source.device)
        return positions.minimum(source_lengths[:, None])

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        chosen = self.chosen(source, source_lengths)
        with real_positions(real(source_lengths, source.shape[1])):
            return self.transform(chosen)


class SpanExtractor(EncoderModel):
    """The first and the last word of an answer within the source (Devlin et al. 2019, section 4.2).

    Label 4 + j is the source's j-th word. A vector has a number for each label, so that the output matrix is the
    identity. The first two places score the words as the answer's first and as its last one; the end symbol's score is
    predicted from the start symbol: where it comes first, the source holds no answer (section 4.3).
    """

    output: Tensor

    def __init__(self, reader: SourceReader, spans: nn.Linear, labels: int) -> None:
        super().__init__(reader)
        self.spans = spans
        self.register_buffer("output", torch.eye(labels), persistent=False)

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        scores = self.spans(self.head_dropout(self.encode(source, source_lengths)))
        first_label = SYMBOL_IDS.end + 1
        words = word_places(source, source_lengths, self.begins)[:, : self.output.shape[0] - first_label]
        is_word = words < (source_lengths - 1)[:, None]
        of_words = at_places(scores, words + 1).masked_fill(~is_word[:, :, None], NEVER).transpose(1, 2)
        before = scores.new_full((*of_words.shape[:2], SYMBOL_IDS.end), NEVER)
        found = torch.cat([before, scores[:, 0, :, None], of_words], dim=-1)
        return nn.functional.pad(found, (0, self.output.shape[0] - found.shape[2]), value=NEVER)


class TextEncoder(PieceHead):
    """Vectors for whole sources: first the mean of all positions, then what the pooler makes of the start symbol.

    Their logits, by the embedding's matrix, say which pieces are near.
    """

    def __init__(self, reader: SourceReader, pooler: Pooler, narrow: nn.Module) -> None:
        super().__init__(reader)
        self.pooler = pooler
        self.narrow = narrow

    def read(self, source: Source, source_lengths: Lengths) -> PlaceVectors:
        vectors = self.encode(source, source_lengths)
        both = torch.stack([mean_of(vectors, source_lengths + 1), self.pooler(vectors[:, :1])[:, 0]], dim=1)
        return self.narrow(self.head_dropout(both))


def build_encoder(
    settings: EncoderSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = packed.attention
) -> EncoderModel:
    """The model in the sizes and with the options of `settings`, with fresh weights from torch's generator.

    ConfigError for a mask that is no piece of the vocabulary.
    """
    s, parts = settings, Parts(settings, kernel)
    reader = SourceReader(
        parts.embedding(source_vocabulary),
        nn.Embedding(s.segments, s.stream_start) if s.segments else None,
        parts.positions(),
        Encoder(parts.layers(parts.encoder_layer, s.layers), parts.final_norm()),
        s.dropout,
    )
    match s.task:
        case "classify":
            model = SequenceClassifier(reader, output_matrix(target_vocabulary, s.width), Pooler(s.width))
        case "tag":
            model = TokenClassifier(reader, output_matrix(target_vocabulary, s.width))
        case "fill":
            if s.mask_piece >= source_vocabulary:
                raise ConfigError(
                    f"model.mask_piece is {s.mask_piece}, and the vocabulary has {source_vocabulary:,} pieces",
                    why="the id of a piece is less than their number",
                    hint="leave it out: the unknown symbol is then the mask",
                    code="C072",
                )
            model = MaskedLM(reader, Transform(s.width, s.stream_start, parts.norm), s.mask_piece)
        case "answer":
            model = SpanExtractor(reader, nn.Linear(s.width, SPANS), target_vocabulary)
        case "embed":
            model = TextEncoder(reader, Pooler(s.width), parts.narrow())
    return initialise(model)
