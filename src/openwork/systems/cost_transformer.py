"""What the parts of a Transformer cost, by formula. No torch here."""

from collections.abc import Iterator

from openwork.models.settings import BUCKETS, TransformerSettings
from openwork.systems.cost_part import Lengths, Part

# Matrices of the feed-forward network, and the inner numbers that its backward pass needs.
FEEDFORWARDS = {"relu": (2, 1), "gelu": (2, 2), "swish": (2, 2)}
FEEDFORWARDS |= {"glu": (3, 3), "reglu": (3, 3), "geglu": (3, 4), "swiglu": (3, 4)}
# Vectors of a norm: gain and shift, or gain alone.
NORMS = {"layer": 2, "rms": 1}
# Matrices of (vocabulary, width) on the source's and on the target's side.
TABLES = {"three-way": (0, 1), "target": (1, 1), "none": (1, 2)}


def transformer_parts(s: TransformerSettings, source: int, target: int, lengths: Lengths) -> Iterator[Part]:
    """The parts of the model with vocabularies of `source` and `target` entries."""
    n, m, first = lengths.source, lengths.target, s.stream_start
    tables = TABLES[s.tying]
    yield Part("embeddings and output", 1, first * (tables[0] * source + tables[1] * target), m * first * target, 0)
    if s.output_bias:
        yield Part("output bias", 1, target)
    if s.embedding_norm:
        yield Part("embedding norms", 2, NORMS[s.normalisation] * first, kept=first * (n + m) // 2)
    yield Part("embedding dropout", 1, 0, kept=2 * first * (n + m))
    if s.positions == "learned":
        yield Part("learned positions", 2, s.table_size * first)
    for side, layers, length in (("encoder", s.encoder_layers, n), ("decoder", s.decoder_layers, m)):
        yield _attention(s, f"{side} self-attention, first layer", 1, (first, length), (first, length))
        if layers > 1:
            yield _attention(s, f"{side} self-attention", layers - 1, (s.width, length), (s.width, length))
        if side == "decoder":
            yield _attention(s, f"{side} cross-attention", layers, (s.width, m), (s.width, n))
        yield _feedforward(s, f"{side} feed-forward", layers, length)
        yield from _wirings(s, side, layers, length)
    if first != s.width:
        yield Part("residual projections", 2, first * s.width, first * s.width * (n + m) // 2)
        yield Part("output projection", 1, s.width * first, m * s.width * first)


def _attention(s: TransformerSettings, name: str, count: int, asking: tuple[int, int], asked: tuple[int, int]) -> Part:
    """`asking` and `asked`: width and number of the positions."""
    (width, queries), (asked_width, keys) = asking, asked
    query, out = s.heads * s.key_width, s.heads * s.value_head_width
    both = s.key_value_count * (s.key_width + s.value_head_width)
    biases = (query + both + s.width) if s.attention_bias else 0
    distances = 2 * s.clipping_distance + 1 if s.positions == "relative" and "self" in name else 0
    buckets = BUCKETS * s.heads if s.positions == "bucketed" and "self" in name else 0
    return Part(
        name,
        count,
        weights=width * query + asked_width * both + out * s.width + biases + distances * s.key_width + buckets,
        products=queries * (width * query + out * s.width + distances * query)
        + keys * asked_width * both
        + queries * keys * (query + out),
        kept=queries * (query + out) + keys * both,
    )


def _feedforward(s: TransformerSettings, name: str, count: int, length: int) -> Part:
    matrices, kept = FEEDFORWARDS[s.feedforward]
    biases = s.feedforward_width + s.width if matrices == 2 else 0
    products = matrices * s.width * s.feedforward_width
    return Part(name, count, products + biases, length * products, length * kept * s.feedforward_width)


def _wirings(s: TransformerSettings, side: str, layers: int, length: int) -> Iterator[Part]:
    """Norm, dropout and sum around each sub-layer; with pre-norm one more norm closes the stack."""
    sublayers = layers * (2 if side == "encoder" else 3)
    vectors = NORMS[s.normalisation]
    first = s.stream_start if s.norm == "pre" else s.width  # the very first norm of a pre-norm stack sees embeddings
    kept = 3 * s.width * length
    yield Part(f"{side} norms and residuals, first", 1, vectors * first, kept=kept)
    yield Part(f"{side} norms and residuals", sublayers - 1, vectors * s.width, kept=kept)
    if s.norm == "pre":
        yield Part(f"{side} final norm", 1, vectors * s.width, kept=2 * s.width * length)
