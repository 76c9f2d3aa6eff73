"""Cost of the parts of a Transformer and of a decoder-only language model, by formula. No torch here."""

from collections.abc import Iterator
from dataclasses import replace

from openwork.cost.part import CostPart, SentenceLengths
from openwork.machine.thresholds import BFLOAT16_ATTENTION, LANES, PLAIN_ATTENTION
from openwork.models.layer_settings import BUCKETS, LayerSettings
from openwork.models.settings import DecoderSettings, TransformerSettings

# Matrices of the feed-forward network, and the inner numbers kept for its backward pass.
FEEDFORWARDS = {"relu": (2, 1), "gelu": (2, 2), "gelu-tanh": (2, 2), "swish": (2, 2)}
FEEDFORWARDS |= {"glu": (3, 3), "reglu": (3, 3), "geglu": (3, 4), "swiglu": (3, 4)}
# Vectors of a norm: gain and shift, or gain alone. It keeps as many numbers for each row: mean and deviation, or one.
NORMS = {"layer": 2, "rms": 1}
# Vectors that it keeps for each row besides its input: RMSNorm also keeps the normalised row.
DIVIDED = {"layer": 0, "rms": 1}
# Positions that add a bias to the scores; it is kept as a matrix of scores.
BIASED = ("alibi", "relative", "bucketed")
# Matrices of (vocabulary, width) on the source's and on the target's side.
TABLES = {"three-way": (0, 1), "target": (1, 1), "none": (1, 2)}
DECODER_TABLES = {"three-way": 1, "embeddings": 2}  # of a decoder-only model

# Orders of norm and residual, and kinds of attention weights.
CONNECTIONS, SCORE_FUNCTIONS = ("post", "pre"), ("scaled", "unscaled")

IDS = 2  # float32 numbers in the memory of a token's id
Side = tuple[int, float]  # width, and number of positions


def has_formulas(s: LayerSettings) -> bool:
    """Whether the formulas cover these options; other models are counted (`counted.py`)."""
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
        yield from connection_parts(s, side, layers, length)
    if first != s.width:
        yield CostPart("residual projections", 2, first * s.width, first * s.width * (n + m) // 2)
        yield CostPart("output projection", 1, s.width * first, m * s.width * first)


def decoder_parts(s: DecoderSettings, vocabulary: int, lengths: SentenceLengths) -> Iterator[CostPart]:
    """The parts of the model. It reads the source without its end symbol; its last token is read with the target."""
    prompt, m, first = lengths.source - 1, lengths.target, s.stream_start
    row = prompt + m
    yield CostPart("embedding and output", 1, DECODER_TABLES[s.tying] * first * vocabulary, m * first * vocabulary)
    if s.output_bias:
        yield CostPart("output bias", 1, vocabulary)
    if s.embedding_norm:
        yield CostPart("embedding norm", 1, NORMS[s.normalisation] * first, kept=first * row)
    yield CostPart("embedding dropout", 1, 0, kept=masks_of(s) * first * row, wide=IDS * row)
    if s.positions == "learned":
        yield CostPart("learned positions", 1, s.table_size * first)
    for count, width in ((1, first), (s.layers - 1, s.width)):
        if not count:
            continue
        yield attention_part(s, "self-attention", count, (width, m), (width, row), past=prompt)
        if prompt > 0:  # read before the target, with the same weights
            reading = attention_part(s, "self-attention, prompt", count, (width, prompt), (width, prompt))
            yield replace(reading, weights=0)
    yield feedforward_part(s, "feed-forward", s.layers, row)
    yield from connection_parts(s, "row", s.layers, row)
    if first != s.width:
        yield CostPart("residual projection", 1, first * s.width, first * s.width * row)
        yield CostPart("output projection", 1, s.width * first, row * s.width * first)


def attention_part(
    s: LayerSettings, name: str, count: int, query_side: Side, key_side: Side, past: float = 0
) -> CostPart:
    """`key_side`: of keys and values; the first `past` of these are in the cache already."""
    (width, queries), (key_width, keys) = query_side, key_side
    query, out = s.heads * s.key_width, s.heads * s.value_head_width
    both = s.key_value_count * (s.key_width + s.value_head_width)
    biases = (query + both + s.width) if s.attention_bias else 0
    is_self = "self" in name
    distances = 2 * s.clipping_distance + 1 if s.positions == "relative" and is_self else 0
    buckets = BUCKETS * s.heads if s.positions == "bucketed" and is_self else 0
    scores = s.heads * queries * keys
    # Keys and values for every head, in float32: shared ones are repeated.
    each = s.heads * (s.key_width + s.value_head_width)
    inside = queries * query + keys * each
    if by_formula := queries * keys <= PLAIN_ATTENTION or s.attention_dropout > 0:
        inside += scores * (3 if s.attention_dropout else 2)  # weights: masked, or with dropout and its mask
    elif by_formula := s.key_width != s.value_head_width:  # no fused kernel has such heads
        inside += scores
    else:  # the fused kernel keeps its output, and the normaliser of each row
        inside += queries * (out + s.heads) + scores * (is_self and s.positions in BIASED)
    filled = -(-keys // LANES) * LANES
    has_bias = is_self and s.positions in BIASED
    in_narrow = queries * keys <= BFLOAT16_ATTENTION and not s.attention_dropout and not has_bias
    narrow = queries * query + filled * each + s.heads * queries * filled if in_narrow else 0
    return CostPart(
        name,
        count,
        weights=width * query + key_width * both + out * s.width + biases + distances * s.key_width + buckets,
        products=queries * (width * query + out * s.width + distances * query)
        + (keys - past) * key_width * both
        + queries * keys * (query + out),
        kept=queries * out * by_formula,
        wide=0 if in_narrow else inside,
        plain=inside if in_narrow else 0,
        narrow=narrow + queries * out * (not by_formula),
    )


def masks_of(s: LayerSettings) -> int:
    """Numbers that dropout keeps for each of its inputs."""
    return int(s.dropout > 0)


def feedforward_part(s: LayerSettings, name: str, count: int, length: float) -> CostPart:
    matrices, kept = FEEDFORWARDS[s.feedforward]
    kept += 2 * (s.feedforward_dropout > 0)  # its mask, and what comes out
    biases = s.feedforward_width + s.width if matrices == 2 else 0
    products = matrices * s.width * s.feedforward_width
    return CostPart(name, count, products + biases, length * products, length * kept * s.feedforward_width)


def connection_parts(s: LayerSettings, side: str, layers: int, length: float) -> Iterator[CostPart]:
    """Norm, dropout and sum around each sub-layer; pre-norm has one more norm at the end of the stack.

    Keeps the sub-layer's input, the norm's input and the dropout's mask, and the encoder's output once more.
    """
    sublayers = layers * (3 if side == "decoder" else 2)
    vectors, divided = NORMS[s.normalisation], DIVIDED[s.normalisation]
    first = s.stream_start if s.norm == "pre" else s.width  # the first norm of a pre-norm stack reads embeddings
    kept, wide = (2 + masks_of(s)) * s.width * length, (vectors + divided * s.width) * length
    yield CostPart(f"{side} norms and residuals, first", 1, vectors * first, kept=kept, wide=wide)
    yield CostPart(f"{side} norms and residuals", sublayers - 1, vectors * s.width, kept=kept, wide=wide)
    output = s.width * length * (side == "encoder")
    if s.norm == "pre":
        yield CostPart(f"{side} final norm", 1, vectors * s.width, kept=output + s.width * length, wide=wide)
    else:
        yield CostPart(f"{side} output", 1, 0, kept=output)
