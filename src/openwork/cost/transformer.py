"""What the parts of a Transformer cost, by formula. No torch here."""

from collections.abc import Iterator

from openwork.cost.part import CostPart, SentenceLengths
from openwork.models.layer_settings import BUCKETS, LayerSettings
from openwork.models.settings import TransformerSettings

# Matrices of the feed-forward network, and the inner numbers that its backward pass needs.
FEEDFORWARDS = {"relu": (2, 1), "gelu": (2, 2), "gelu-tanh": (2, 2), "swish": (2, 2)}
FEEDFORWARDS |= {"glu": (3, 3), "reglu": (3, 3), "geglu": (3, 4), "swiglu": (3, 4)}
# Vectors of a norm: gain and shift, or gain alone. It keeps as many numbers of each row: mean and deviation, or one.
NORMS = {"layer": 2, "rms": 1}
# Vectors that it keeps of each row besides its input: a root mean square also what it has divided.
DIVIDED = {"layer": 0, "rms": 1}
# Scores of a head up to which attention is computed by the plain formula on a CPU, which keeps its weights
# (nn/kernels/fused.py).
SHORT = 256
# Scores of a head up to which a narrow type has a kernel of its own, and the number whose multiples its keys are filled
# up to (nn/kernels/short.py).
NARROW, LANES = 96 * 96, 16
# What is added to the scores is kept as a matrix of them.
BIASED = ("alibi", "relative", "bucketed")
# Matrices of (vocabulary, width) on the source's and on the target's side.
TABLES = {"three-way": (0, 1), "target": (1, 1), "none": (1, 2)}

# Orders of norm and residual, and kinds of attention weights.
CONNECTIONS, SCORE_FUNCTIONS = ("post", "pre"), ("scaled", "unscaled")

IDS = 2  # float32 numbers that are as large as a token's id
Side = tuple[int, float]  # width and number of some positions


def has_formulas(s: LayerSettings) -> bool:
    """Whether the formulas here cover these options; with others a model is counted."""
    known = s.attention in SCORE_FUNCTIONS and s.norm in CONNECTIONS
    return known and s.feedforward in FEEDFORWARDS and s.normalisation in NORMS


def transformer_parts(s: TransformerSettings, source: int, target: int, lengths: SentenceLengths) -> Iterator[CostPart]:
    """The parts of the model with vocabularies of `source` and `target` entries."""
    n, m, first = lengths.source, lengths.target, s.stream_start
    tables = TABLES[s.tying]
    yield CostPart("embeddings and output", 1, first * (tables[0] * source + tables[1] * target), m * first * target, 0)
    if s.output_bias:
        yield CostPart("output bias", 1, target)
    if s.embedding_norm:
        yield CostPart("embedding norms", 2, NORMS[s.normalisation] * first, kept=first * (n + m) / 2)
    yield CostPart("embedding dropout", 1, 0, kept=masks_of(s) * first * (n + m), wide=IDS * (n + m))
    if s.positions == "learned":
        yield CostPart("learned positions", 2, s.table_size * first)
    for side, layers, length in (("encoder", s.encoder_layers, n), ("decoder", s.decoder_layers, m)):
        yield attention_part(s, f"{side} self-attention, first layer", 1, (first, length), (first, length))
        if layers > 1:
            yield attention_part(s, f"{side} self-attention", layers - 1, (s.width, length), (s.width, length))
        if side == "decoder":
            yield attention_part(s, f"{side} cross-attention", layers, (s.width, m), (s.width, n))
        yield feedforward_part(s, f"{side} feed-forward", layers, length)
        yield from wiring_parts(s, side, layers, length)
    if first != s.width:
        yield CostPart("residual projections", 2, first * s.width, first * s.width * (n + m) // 2)
        yield CostPart("output projection", 1, s.width * first, m * s.width * first)


def attention_part(s: LayerSettings, name: str, count: int, asking: Side, asked: Side, past: float = 0) -> CostPart:
    """`asking` the queries, `asked` the keys and values; `past`: how many of these were there already."""
    (width, queries), (asked_width, keys) = asking, asked
    projected = keys - past
    query, out = s.heads * s.key_width, s.heads * s.value_head_width
    both = s.key_value_count * (s.key_width + s.value_head_width)
    biases = (query + both + s.width) if s.attention_bias else 0
    own = "self" in name
    distances = 2 * s.clipping_distance + 1 if s.positions == "relative" and own else 0
    buckets = BUCKETS * s.heads if s.positions == "bucketed" and own else 0
    scores = s.heads * queries * keys
    # As many keys and values as heads ask for, in float32: shared ones are repeated.
    each = s.heads * (s.key_width + s.value_head_width)
    inside = queries * query + keys * each
    if by_formula := queries * keys <= SHORT or s.attention_dropout > 0:
        inside += scores * (3 if s.attention_dropout else 2)  # weights, masked, or with their dropout and its mask
    elif by_formula := s.key_width != s.value_head_width:  # no fused kernel takes such heads
        inside += scores
    else:  # the fused kernel keeps what it gives, and the normaliser of each row
        inside += queries * (out + s.heads) + scores * (own and s.positions in BIASED)
    filled = -(-keys // LANES) * LANES
    in_narrow = queries * keys <= NARROW and not s.attention_dropout and not (own and s.positions in BIASED)
    narrow = queries * query + filled * each + s.heads * queries * filled if in_narrow else 0
    return CostPart(
        name,
        count,
        weights=width * query + asked_width * both + out * s.width + biases + distances * s.key_width + buckets,
        products=queries * (width * query + out * s.width + distances * query)
        + projected * asked_width * both
        + queries * keys * (query + out),
        kept=queries * out * by_formula,
        wide=0 if in_narrow else inside,
        plain=inside if in_narrow else 0,
        narrow=narrow + queries * out * (not by_formula),
    )


def masks_of(s: LayerSettings) -> int:
    """Dropout keeps a number for each of its inputs."""
    return int(s.dropout > 0)


def feedforward_part(s: LayerSettings, name: str, count: int, length: float) -> CostPart:
    matrices, kept = FEEDFORWARDS[s.feedforward]
    kept += 2 * (s.feedforward_dropout > 0)  # its mask, and what comes out
    biases = s.feedforward_width + s.width if matrices == 2 else 0
    products = matrices * s.width * s.feedforward_width
    return CostPart(name, count, products + biases, length * products, length * kept * s.feedforward_width)


def wiring_parts(s: LayerSettings, side: str, layers: int, length: float) -> Iterator[CostPart]:
    """Norm, dropout and sum around each sub-layer; with pre-norm one more norm closes the stack.

    Kept are the sub-layer's input, the norm's input, and the mask of the dropout; the encoder's output once more.
    """
    sublayers = layers * (3 if side == "decoder" else 2)
    vectors, divided = NORMS[s.normalisation], DIVIDED[s.normalisation]
    first = s.stream_start if s.norm == "pre" else s.width  # the very first norm of a pre-norm stack sees embeddings
    kept, wide = (2 + masks_of(s)) * s.width * length, (vectors + divided * s.width) * length
    yield CostPart(f"{side} norms and residuals, first", 1, vectors * first, kept=kept, wide=wide)
    yield CostPart(f"{side} norms and residuals", sublayers - 1, vectors * s.width, kept=kept, wide=wide)
    output = s.width * length * (side == "encoder")
    if s.norm == "pre":
        yield CostPart(f"{side} final norm", 1, vectors * s.width, kept=output + s.width * length, wide=wide)
    else:
        yield CostPart(f"{side} output", 1, 0, kept=output)
