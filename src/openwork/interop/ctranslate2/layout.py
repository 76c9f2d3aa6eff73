"""Names and layout of a Transformer's weights in CTranslate2, for reading and for writing.

One of CTranslate2's arrays may hold several of openwork's weights along the rows: queries, keys and values of
self-attention are one matrix. Embeddings, output and positions are not here: their rows follow the vocabulary, or are
computed.
"""

from openwork.models.settings import SpeechSettings, TransformerSettings

ENCODER, DECODER = "encoder", "decoder"
StacksSettings = TransformerSettings | SpeechSettings  # of a model with an encoder and a decoder
EMBEDDINGS, FIRST_EMBEDDINGS = "embeddings/weight", "embeddings_0/weight"  # the latter where inputs could be several
OUTPUT, OUTPUT_BIAS = "decoder/projection/weight", "decoder/projection/bias"
POSITIONS = "position_encodings/encodings"

Places = dict[str, tuple[str, ...]]
"""An array of CTranslate2's -> the weights of openwork's that it holds."""

RELU, GELU_TANH, SWISH, GELU, SIGMOID = 0, 1, 2, 3, 6  # 4 and 5 are another approximation of GELU and tanh
# Feed-forward networks: CTranslate2's activation, and whether it gates a second matrix.
FEEDFORWARDS: dict[str, tuple[int, bool]] = {
    "relu": (RELU, False),
    "gelu": (GELU, False),
    "gelu-tanh": (GELU_TANH, False),
    "swish": (SWISH, False),
    "glu": (SIGMOID, True),
    "reglu": (RELU, True),
    "geglu": (GELU, True),
    "geglu-tanh": (GELU_TANH, True),
    "swiglu": (SWISH, True),
}


def places(settings: StacksSettings) -> Places:
    """All arrays for a model of these settings."""
    found: Places = {}
    for layer in range(settings.encoder_layers):
        name, own = f"{ENCODER}/layer_{layer}", f"encoder.layers.{layer}"
        found |= _self_attention(name, own, "attention_wiring", settings) | _feedforward(name, own, settings)
    for layer in range(settings.decoder_layers):
        name, own = f"{DECODER}/layer_{layer}", f"decoder.layers.{layer}"
        found |= _self_attention(name, own, "self_wiring", settings) | _feedforward(name, own, settings)
        found |= _attention(f"{name}/attention", f"{own}.cross_attention", settings, ("query",), ("key", "value"))
        found |= _norm(f"{name}/attention/layer_norm", f"{own}.cross_wiring.norm", settings)
    for side, positions in ((ENCODER, "source_positions"), (DECODER, "target_positions")):
        if settings.norm == "pre":
            found |= _norm(f"{side}/layer_norm", f"{side}.final_norm", settings)
        if settings.embedding_norm:
            found |= _norm(f"{side}/layernorm_embedding", f"{positions}.norm", settings)
    return found


def attentions(encoder_layers: int, decoder_layers: int) -> dict[str, str]:
    """CTranslate2's names of the attentions -> openwork's."""
    scopes = {
        f"{ENCODER}/layer_{n}/self_attention": f"encoder.layers.{n}.self_attention" for n in range(encoder_layers)
    }
    for n in range(decoder_layers):
        scopes[f"{DECODER}/layer_{n}/self_attention"] = f"decoder.layers.{n}.self_attention"
        scopes[f"{DECODER}/layer_{n}/attention"] = f"decoder.layers.{n}.cross_attention"
    return scopes


def _self_attention(layer: str, own: str, norm: str, settings: StacksSettings) -> Places:
    name = f"{layer}/self_attention"
    found = _attention(name, f"{own}.self_attention", settings, ("query", "key", "value"))
    if settings.positions == "relative":
        found[f"{name}/relative_position_keys"] = (f"{own}.self_attention.distances.table.weight",)
    return found | _norm(f"{name}/layer_norm", f"{own}.{norm}.norm", settings)


def _attention(name: str, own: str, settings: StacksSettings, *joined: tuple[str, ...]) -> Places:
    found: Places = {}
    for number, parts in enumerate((*joined, ("output",))):
        found |= _linear(f"{name}/linear_{number}", *(f"{own}.{part}" for part in parts), bias=settings.attention_bias)
    return found


def _feedforward(layer: str, own: str, settings: StacksSettings) -> Places:
    _, gated = FEEDFORWARDS[settings.feedforward]
    name = f"{layer}/ffn"
    found = _norm(f"{name}/layer_norm", f"{own}.feedforward_wiring.norm", settings)
    found |= _linear(f"{name}/linear_0", f"{own}.feedforward.{'gate' if gated else 'expand'}", bias=not gated)
    if gated:
        found |= _linear(f"{name}/linear_0_noact", f"{own}.feedforward.expand", bias=False)
    return found | _linear(f"{name}/linear_1", f"{own}.feedforward.contract", bias=not gated)


def _linear(name: str, *own: str, bias: bool) -> Places:
    kinds = ("weight", "bias") if bias else ("weight",)
    return {f"{name}/{kind}": tuple(f"{one}.{kind}" for one in own) for kind in kinds}


def _norm(name: str, own: str, settings: StacksSettings) -> Places:
    kinds = {"gamma": "weight"} if settings.normalisation == "rms" else {"gamma": "weight", "beta": "bias"}
    return {f"{name}/{kind}": (f"{own}.{part}",) for kind, part in kinds.items()}
