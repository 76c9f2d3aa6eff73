"""Formulas of the paper's model that it does not number; those of its training and its search stand in `methods.py`."""

import numpy as np

from openwork.inspection.trace import Step, Trace
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.kernels.reference import masked_scores
from openwork.nn.masks import causal
from openwork.nn.normalisation import layer_norm
from openwork.nn.positions import SinusoidalPositions, exact_sinusoids
from openwork.nn.residual import PostNorm, ResidualSum
from openwork.study.paper.contents import PAPER
from openwork.study.paper.equations import ENCODER
from openwork.study.paper.exhibit import Computed, Exhibit
from openwork.study.paper.forward import forward_trace

DECODER = "decoder.layers.0"
POSITIONS, WIDTH = 6, 8  # of the table of sinusoids that is shown whole


def _residual() -> Computed:
    return Computed(
        forward_trace(
            "source.sum",
            f"{ENCODER}.self_attention.output",
            f"{ENCODER}.attention_wiring.residual",
            f"{ENCODER}.attention_wiring.norm",
        )
    )


def _multi_head() -> Computed:
    parts = ("query", "key", "value", "weights", "heads", "output")
    return Computed(forward_trace("source.sum", *(f"{ENCODER}.self_attention.{part}" for part in parts)))


def _mask() -> Computed:
    return Computed(forward_trace(*(f"{DECODER}.self_attention.{part}" for part in ("scores", "masked", "weights"))))


def _embedding() -> Computed:
    last = f"{DECODER}.feedforward_wiring.norm"
    return Computed(forward_trace("source.ids", "source.lookup", "source.embedding", last, "logits"))


def _positions() -> Computed:
    table = Step(
        "sinusoids",
        "The first positions at a width of 8, small enough to be read whole",
        "sin(pos / 10000^(2i / d_model)), cos(pos / 10000^(2i / d_model))",
        np.array(exact_sinusoids(POSITIONS, WIDTH).numpy()),
        ("position", "width"),
        code=f"{exact_sinusoids.__module__}.{exact_sinusoids.__qualname__}",
        source=f"{PAPER}, section 3.5",
    )
    passed = forward_trace("source.embedding", "source.positions", "source.sum")
    return Computed(Trace(passed.name, passed.title, (table, *passed.steps), passed.assumptions))


EXHIBITS = (
    Exhibit(
        "formula residual",
        "LayerNorm(x + Sublayer(x))",
        (
            "What a sub-layer gives is added to what went into it, and the sum is normalised: each position's vector "
            "loses its mean and is divided by its standard deviation, then multiplied by a learnt gain and moved by a "
            "learnt shift. In training, dropout falls on what the sub-layer gives, before the sum (section 5.4).",
            "This is post-norm, and the default here. With pre-norm, which most later models have, the norm stands "
            'before the sub-layer and one more closes each stack: model.norm = "pre".',
        ),
        (ResidualSum, PostNorm.after, layer_norm),
        (
            "tests/nn/test_layers.py::test_post_norm_ends_with_a_norm_and_pre_norm_begins_with_one",
            "tests/nn/test_layers.py::test_dropout_falls_on_the_sublayer_and_not_on_the_stream",
            "tests/nn/test_layers.py::test_an_encoder_layer_is_the_frameworks",
        ),
        _residual,
    ),
    Exhibit(
        "formula multi-head",
        "MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)",
        (
            "Equation 1 runs h times side by side, each time on other projections of queries, keys and values that "
            "are d_model / h wide. The results are put next to each other and projected once more.",
            "The h matrices of one kind stand in one: a single product makes all queries, and cutting its result into "
            "pieces of d_k gives the heads. The paper's formulas have no biases, and neither have these.",
        ),
        (
            MultiHeadAttention.split,
            MultiHeadAttention.join,
            MultiHeadAttention.queries,
            MultiHeadAttention.keys_values,
            MultiHeadAttention.forward,
        ),
        (
            "tests/nn/test_attention.py::test_each_head_is_the_formula",
            "tests/nn/test_attention.py::test_it_is_the_frameworks",
            "tests/parity/test_torch.py::test_attention",
        ),
        _multi_head,
    ),
    Exhibit(
        "formula mask",
        "score = -inf where key > query",
        (
            "While it is trained the decoder is given the whole target at once. So that a position cannot look at what "
            "it is to predict, the scores of all later positions are set to minus infinity before the softmax.",
            "Masks are described and made in one file; True means that a key may be attended.",
        ),
        (causal, masked_scores),
        (
            "tests/nn/test_masks.py::test_causal_lets_each_query_see_itself_and_what_is_earlier",
            "tests/nn/test_masks.py::test_steps_with_a_cache_are_rows_of_the_whole",
            "tests/models/contract.py::test_no_position_sees_a_later_token",
        ),
        _mask,
    ),
    Exhibit(
        "formula embedding",
        "E[id] sqrt(d_model), logits = x E^T",
        (
            "A piece of text is a row of a matrix, multiplied by sqrt(d_model). The same matrix serves the source, the "
            "target and, without the factor, the output, where its product with the decoder's vector gives a number "
            "for each piece of the vocabulary.",
            "The paper does not say how the matrix is drawn. Ours has the variance 1 / d_model, so that embeddings "
            "have the variance 1 after the factor, and logits too.",
        ),
        (TokenEmbedding, SequenceModel.project),
        (
            "tests/nn/test_layers.py::test_embedding_is_scaled_by_the_root_of_the_width",
            "tests/models/contract.py::test_tying",
            "tests/models/test_transformer.py::test_fresh_logits_have_unit_variance",
        ),
        _embedding,
    ),
    Exhibit(
        "formula positions",
        "PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))",
        (
            "Attention alone does not know the order of its input, so a vector that depends on the position is added "
            "to each embedding: sines and cosines whose wavelengths grow from 2 pi to 10000 times 2 pi.",
            "The vectors of two positions that are k apart are turned into each other by a rotation that depends on k "
            "alone; `openwork study position-rotation` shows it. The table is made in float64, because in float32 far "
            "positions would be off in the fourth decimal, and it grows when a sentence is longer.",
        ),
        (exact_sinusoids, SinusoidalPositions),
        (
            "tests/nn/test_positions.py::test_values_by_hand",
            "tests/nn/test_positions.py::test_a_shift_is_a_rotation_of_each_pair",
            "tests/nn/test_positions.py::test_far_positions_are_exact",
        ),
        _positions,
    ),
)
