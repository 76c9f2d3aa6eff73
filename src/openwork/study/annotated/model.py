"""The whole model by 001's names."""

from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.nn.embedding import initialise
from openwork.nn.masks import Mask
from openwork.study.annotated.attention import MultiHeadAttention
from openwork.study.annotated.embedding import Embed, PositionalEncoding
from openwork.study.annotated.masks import FILL
from openwork.study.annotated.stacks import Decoder, DecoderLayer, Encoder, EncoderLayer
from openwork.study.annotated.sublayers import FeedForward


class Output(nn.Module):
    """The logarithms of the probabilities: log softmax(x W + b).

    001's formula has a max(0, .) inside, which neither its code nor the paper has; it is left out here too.
    """

    def __init__(self, input_dim: int, output_dim: int) -> None:
        super().__init__()
        self.l1 = nn.Linear(input_dim, output_dim)
        self.log_softmax = nn.LogSoftmax(dim=-1)

    def forward(self, x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows vocabulary"]:
        return self.log_softmax(self.l1(x))


class EncoderDecoder(nn.Module):
    """Encoder and decoder between the embeddings and the output layer.

    What comes out at a target position tells the token after it, so `tgt` begins with a start symbol and ends before
    the last token; 001's example, which gives the whole target and no causal mask, lets the model copy what it should
    say. Masks: as in `MultiHeadAttention` for the source, as in `DecoderLayer` for the target.
    """

    def __init__(
        self, encoder: nn.Module, decoder: nn.Module, src_embed: nn.Module, tgt_embed: nn.Module, final_layer: nn.Module
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.src_embed = src_embed
        self.tgt_embed = tgt_embed
        self.final_layer = final_layer

    def forward(
        self,
        src: Int[Tensor, "batch source"],
        tgt: Int[Tensor, "batch target"],
        src_mask: Tensor | Mask | None,
        tgt_mask: Tensor | Mask | None,
    ) -> Float[Tensor, "batch target vocabulary"]:
        """Log-probabilities of the token after each target position."""
        return self.final_layer(self.decode(self.encode(src, src_mask), src_mask, tgt, tgt_mask))

    def encode(
        self, src: Int[Tensor, "batch source"], src_mask: Tensor | Mask | None
    ) -> Float[Tensor, "batch source width"]:
        """The memory."""
        return self.encoder(self.src_embed(src), src_mask)

    def decode(
        self,
        memory: Float[Tensor, "batch source width"],
        src_mask: Tensor | Mask | None,
        tgt: Int[Tensor, "batch target"],
        tgt_mask: Tensor | Mask | None,
    ) -> Float[Tensor, "batch target width"]:
        """The decoder's vectors, before the output layer."""
        return self.decoder(self.tgt_embed(tgt), memory, src_mask, tgt_mask)


def make_model(
    input_vocab: int,
    output_vocab: int,
    d_model: int = 512,
    *,
    n: int = 6,
    h: int = 8,
    d_ff: int = 2048,
    dropout: float = 0.1,
    fill: float = FILL,
) -> EncoderDecoder:
    """001's Transformer: pre-norm, two vocabularies, nothing shared, with fresh weights from torch's generator.

    Departs from 001: every part heeds `d_model` (there, all but 512 is an error), and the sizes that are defaults of
    its parts can be chosen. First values are those of `nn.initialise`: Glorot's bound sqrt(6 / (in + out)) for matrices
    (001's text has another, its code this one), zero for biases (its text, not its code), N(0, 1 / d_model) for
    embeddings (its text has N(0, 1), its code Glorot's).
    """

    def heads() -> MultiHeadAttention:
        return MultiHeadAttention(h, d_model, dropout, fill=fill)

    def feed_forward() -> FeedForward:
        return FeedForward(d_model, d_ff, dropout)

    def embed(vocab: int) -> nn.Sequential:
        return nn.Sequential(Embed(vocab, d_model), PositionalEncoding(d_model, dropout))

    model = EncoderDecoder(
        Encoder(EncoderLayer(d_model, heads(), feed_forward(), dropout), n),
        Decoder(DecoderLayer(d_model, heads(), heads(), feed_forward(), dropout), n),
        embed(input_vocab),
        embed(output_vocab),
        Output(d_model, output_vocab),
    )
    initialise(model)
    return model
