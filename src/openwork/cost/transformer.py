"""Cost of the parts of a Transformer, by formula. No torch here.

The formulas cover what the paper and most recipes have; a model with other options is counted (`counted.py`).
"""

from collections.abc import Iterator

from openwork.cost.part import CostPart, SentenceLengths
from openwork.machine.thresholds import BFLOAT16_ATTENTION, LANES, PLAIN_ATTENTION
from openwork.models.settings import TransformerSettings

# Matrices of the feed-forward network, and the inner numbers kept for its backward pass.
FEEDFORWARDS = {"relu": (2, 1), "gelu": (2, 2), "gelu-tanh": (2, 2), "swish": (2, 2)}
FEEDFORWARDS |= {"glu": (3, 3), "reglu": (3, 3), "geglu": (3, 4), "geglu-tanh": (3, 4), "swiglu": (3, 4)}
# Matrices of (vocabulary, width) on the source's and on the target's side.
TABLES = {"three-way": (0, 1), "target": (1, 1), "none": (1, 2)}
# Orders of norm and residual, kinds of attention weights, of norms and of positions.
CONNECTIONS, SCORE_FUNCTIONS = ("post", "pre"), ("scaled", "unscaled")
NORMALISATIONS, POSITIONS = ("layer",), ("sinusoidal", "split-sinusoidal", "learned", "none")

NORM = 2  # vectors of a norm: gain and shift. It keeps as many numbers for each row: mean and deviation
IDS = 2  # float32 numbers in the memory of a token's id


def has_formulas(s: TransformerSettings) -> bool:
    """Whether the formulas cover these options."""
    known = s.attention in SCORE_FUNCTIONS and s.norm in CONNECTIONS and s.feedforward in FEEDFORWARDS
    plain = s.normalisation in NORMALISATIONS and s.positions in POSITIONS and s.embedding_width in (None, s.width)
    plain = plain and s.attention_pattern == "full" and s.attention_chunk is None
    plain = plain and s.feedforward_rank is None and not s.layer_sharing
    return known and plain and not (s.embedding_norm or s.attention_dropout or s.feedforward_dropout)


def transformer_parts(s: TransformerSettings, source: int, target: int, lengths: SentenceLengths) -> Iterator[CostPart]:
    """The parts of the model with vocabularies of `source` and `target` entries."""
    n, m, width = lengths.source, lengths.target, s.width
    tables = TABLES[s.tying]
    yield CostPart("embeddings and output", 1, width * (tables[0] * source + tables[1] * target), m * width * target, 0)
    if s.output_bias:
        yield CostPart("output bias", 1, target)
    yield CostPart("embedding dropout", 1, 0, kept=(s.dropout > 0) * width * (n + m), wide=IDS * (n + m))
    if s.positions == "learned":
        yield CostPart("learned positions", 2, s.table_size * width)
    for side, layers, length in (("encoder", s.encoder_layers, n), ("decoder", s.decoder_layers, m)):
        yield attention_part(s, f"{side} self-attention", layers, length, length)
        if side == "decoder":
            yield attention_part(s, f"{side} cross-attention", layers, m, n)
        yield feedforward_part(s, f"{side} feed-forward", layers, length)
        yield from connection_parts(s, side, layers, length)


def attention_part(s: TransformerSettings, name: str, count: int, queries: float, keys: float) -> CostPart:
    width, query, out = s.width, s.heads * s.key_width, s.heads * s.value_head_width
    both = s.key_value_count * (s.key_width + s.value_head_width)
    biases = (query + both + width) if s.attention_bias else 0
    scores = s.heads * queries * keys
    # Keys and values for every head, in float32: shared ones are repeated.
    each = s.heads * (s.key_width + s.value_head_width)
    inside = queries * query + keys * each
    if by_formula := queries * keys <= PLAIN_ATTENTION:
        inside += scores * 2  # weights: masked
    elif by_formula := s.key_width != s.value_head_width:  # no fused kernel has such heads
        inside += scores
    else:  # the fused kernel keeps its output, and the normaliser of each row
        inside += queries * (out + s.heads)
    filled = -(-keys // LANES) * LANES
    in_narrow = queries * keys <= BFLOAT16_ATTENTION
    narrow = queries * query + filled * each + s.heads * queries * filled if in_narrow else 0
    return CostPart(
        name,
        count,
        weights=width * query + width * both + out * width + biases,
        products=queries * (width * query + out * width) + keys * width * both + queries * keys * (query + out),
        kept=queries * out * by_formula,
        wide=0 if in_narrow else inside,
        plain=inside if in_narrow else 0,
        narrow=narrow + queries * out * (not by_formula),
    )


def feedforward_part(s: TransformerSettings, name: str, count: int, length: float) -> CostPart:
    matrices, kept = FEEDFORWARDS[s.feedforward]
    biases = s.feedforward_width + s.width if matrices == 2 else 0
    products = matrices * s.width * s.feedforward_width
    return CostPart(name, count, products + biases, length * products, length * kept * s.feedforward_width)


def connection_parts(s: TransformerSettings, side: str, layers: int, length: float) -> Iterator[CostPart]:
    """Norm, dropout and sum around each sub-layer; pre-norm has one more norm at the end of the stack.

    Keeps the sub-layer's input, the norm's input and the dropout's mask, and the encoder's output once more.
    """
    sublayers = layers * (3 if side == "decoder" else 2)
    kept, wide = (2 + (s.dropout > 0)) * s.width * length, NORM * length
    yield CostPart(f"{side} norms and residuals", sublayers, NORM * s.width, kept=kept, wide=wide)
    output = s.width * length * (side == "encoder")
    if s.norm == "pre":
        yield CostPart(f"{side} final norm", 1, NORM * s.width, kept=output + s.width * length, wide=wide)
    else:
        yield CostPart(f"{side} output", 1, 0, kept=output)
