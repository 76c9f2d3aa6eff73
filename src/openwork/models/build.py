"""From settings to a model: the one place where a model's parts meet."""

from openwork.base.errors import ConfigError
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent import build_recurrent
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.decoder import Decoder, DecoderLayer
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.encoder import Encoder, EncoderLayer
from openwork.nn.feedforward import FeedForward
from openwork.nn.initialise import initialise, output_matrix
from openwork.nn.kernels import Kernel, fused
from openwork.nn.residual import PostNorm, PreNorm

ModelSettings = TransformerSettings | RecurrentSettings

WIRINGS: dict[str, type[PostNorm] | type[PreNorm]] = {"post": PostNorm, "pre": PreNorm}


def build_transformer(
    settings: TransformerSettings, source_vocabulary: int, target_vocabulary: int, kernel: Kernel = fused.attention
) -> Transformer:
    """The paper's model in the sizes of `settings`, with fresh weights from torch's generator."""
    s = settings
    wiring = WIRINGS[s.norm]

    def attention() -> MultiHeadAttention:
        return MultiHeadAttention(
            s.width, s.heads, s.key_width, s.value_head_width,
            bias=s.attention_bias, weight_dropout=s.attention_dropout, kernel=kernel,
        )  # fmt: skip

    def feedforward() -> FeedForward:
        return FeedForward(s.width, s.feedforward_width, s.feedforward_dropout)

    def wire() -> PostNorm | PreNorm:
        return wiring(s.width, s.dropout)

    encoder_layers = [EncoderLayer(attention(), feedforward(), (wire(), wire())) for _ in range(s.encoder_layers)]
    decoder_layers = [
        DecoderLayer(attention(), attention(), feedforward(), (wire(), wire(), wire())) for _ in range(s.decoder_layers)
    ]
    target_embedding = TokenEmbedding(target_vocabulary, s.width)
    source_embedding = target_embedding if s.tying == "three-way" else TokenEmbedding(source_vocabulary, s.width)
    output = output_matrix(target_vocabulary, s.width) if s.tying == "none" else target_embedding.table.weight
    encoder = Encoder(encoder_layers, wiring.final_norm(s.width))
    decoder = Decoder(decoder_layers, wiring.final_norm(s.width))
    model = Transformer(source_embedding, target_embedding, encoder, decoder, output, s.dropout)
    initialise(model)
    return model


def _check_shared(source_vocabulary: int, target_vocabulary: int) -> None:
    if source_vocabulary != target_vocabulary:
        raise ConfigError(
            "three-way tying needs one vocabulary for source and target",
            why=f"the source has {source_vocabulary:,} entries, the target {target_vocabulary:,}",
            hint='set text.shared = true, or model.tying = "target"',
        )


def build_model(settings: ModelSettings, source_vocabulary: int, target_vocabulary: int) -> SequenceModel:
    """The model that `settings` describe; a new family adds one line here.

    ConfigError when all three matrices should be one and the vocabularies differ.
    """
    if settings.tying == "three-way":
        _check_shared(source_vocabulary, target_vocabulary)
    match settings:
        case TransformerSettings():
            return build_transformer(settings, source_vocabulary, target_vocabulary)
        case RecurrentSettings():
            return build_recurrent(settings, source_vocabulary, target_vocabulary)
