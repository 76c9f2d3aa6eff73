"""Where each weight of our Transformer stands in CTranslate2's: the one place that knows, for reading and for writing.

Theirs hold several of ours, one after the other along the rows: queries, keys and values of self-attention are one
matrix. Embeddings, output and positions are not here: their rows follow the vocabulary, or are made.
"""

from collections.abc import Iterator

from openwork.models.settings import TransformerSettings

ENCODER, DECODER = "encoder", "decoder"
EMBEDDINGS, FIRST_EMBEDDINGS = "embeddings/weight", "embeddings_0/weight"  # the latter where inputs could be several
OUTPUT, OUTPUT_BIAS = "decoder/projection/weight", "decoder/projection/bias"
POSITIONS = "position_encodings/encodings"

Places = dict[str, tuple[str, ...]]
"""A weight of theirs -> those of ours that it holds."""

RELU, GELU_TANH, SWISH, GELU, SIGMOID = 0, 1, 2, 3, 6  # theirs; 4 and 5 are another approximation of GELU and tanh
# Our feed-forward networks: their activation, and whether a second matrix is gated by it.
FEEDFORWARDS: dict[str, tuple[int, bool]] = {
    "relu": (RELU, False),
    "gelu": (GELU, False),
    "gelu-tanh": (GELU_TANH, False),
    "swish": (SWISH, False),
    "glu": (SIGMOID, True),
    "reglu": (RELU, True),
    "geglu": (GELU, True),
    "swiglu": (SWISH, True),
}


def places(settings: TransformerSettings) -> Places:
    """All of theirs for a model of these settings."""
    found: Places = {}
    for layer in range(settings.encoder_layers):
        found |= _encoder_layer(f"{ENCODER}/layer_{layer}", f"encoder.layers.{layer}", settings)
    for layer in range(settings.decoder_layers):
        found |= _decoder_layer(f"{DECODER}/layer_{layer}", f"decoder.layers.{layer}", settings)
    for side, positions in ((ENCODER, "source_positions"), (DECODER, "target_positions")):
        if settings.norm == "pre":
            found |= _norm(f"{side}/layer_norm", f"{side}.final_norm", settings)
        if settings.embedding_norm:
            found |= _norm(f"{side}/layernorm_embedding", f"{positions}.norm", settings)
    return found


def attentions(encoder_layers: int, decoder_layers: int) -> Iterator[str]:
    """The scopes of their attentions."""
    for layer in range(encoder_layers):
        yield f"{ENCODER}/layer_{layer}/self_attention"
    for layer in range(decoder_layers):
        yield f"{DECODER}/layer_{layer}/self_attention"
        yield f"{DECODER}/layer_{layer}/attention"


def _encoder_layer(theirs: str, ours: str, settings: TransformerSettings) -> Places:
    return {
        **_self_attention(f"{theirs}/self_attention", f"{ours}.self_attention", settings),
        **_norm(f"{theirs}/self_attention/layer_norm", f"{ours}.attention_wiring.norm", settings),
        **_feedforward(f"{theirs}/ffn", ours, settings),
    }


def _decoder_layer(theirs: str, ours: str, settings: TransformerSettings) -> Places:
    return {
        **_self_attention(f"{theirs}/self_attention", f"{ours}.self_attention", settings),
        **_norm(f"{theirs}/self_attention/layer_norm", f"{ours}.self_wiring.norm", settings),
        **_attention(f"{theirs}/attention", f"{ours}.cross_attention", settings, ("query",), ("key", "value")),
        **_norm(f"{theirs}/attention/layer_norm", f"{ours}.cross_wiring.norm", settings),
        **_feedforward(f"{theirs}/ffn", ours, settings),
    }


def _self_attention(theirs: str, ours: str, settings: TransformerSettings) -> Places:
    found = _attention(theirs, ours, settings, ("query", "key", "value"))
    if settings.positions == "relative":
        found[f"{theirs}/relative_position_keys"] = (f"{ours}.distances.table.weight",)
    return found


def _attention(theirs: str, ours: str, settings: TransformerSettings, *joined: tuple[str, ...]) -> Places:
    found: Places = {}
    for number, parts in enumerate((*joined, ("output",))):
        found |= _linear(
            f"{theirs}/linear_{number}", *(f"{ours}.{part}" for part in parts), bias=settings.attention_bias
        )
    return found


def _feedforward(theirs: str, layer: str, settings: TransformerSettings) -> Places:
    _, gated = FEEDFORWARDS[settings.feedforward]
    ours = f"{layer}.feedforward"
    found = _norm(f"{theirs}/layer_norm", f"{layer}.feedforward_wiring.norm", settings)
    found |= _linear(f"{theirs}/linear_0", f"{ours}.gate" if gated else f"{ours}.expand", bias=not gated)
    if gated:
        found |= _linear(f"{theirs}/linear_0_noact", f"{ours}.expand", bias=False)
    return found | _linear(f"{theirs}/linear_1", f"{ours}.contract", bias=not gated)


def _linear(theirs: str, *ours: str, bias: bool) -> Places:
    kinds = ("weight", "bias") if bias else ("weight",)
    return {f"{theirs}/{kind}": tuple(f"{name}.{kind}" for name in ours) for kind in kinds}


def _norm(theirs: str, ours: str, settings: TransformerSettings) -> Places:
    kinds = {"gamma": "weight"} if settings.normalisation == "rms" else {"gamma": "weight", "beta": "bias"}
    return {f"{theirs}/{kind}": (f"{ours}.{name}",) for kind, name in kinds.items()}
