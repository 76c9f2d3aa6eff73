"""The paper's equations 1 and 2, and the formulas of its model that it does not number."""

from dataclasses import replace

from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels import scale_of
from openwork.nn.kernels.reference import (
    attention,
    attention_scores,
    attention_weights,
    masked_scores,
    softmax_over,
    weighted_sum,
)
from openwork.nn.masks import causal
from openwork.nn.normalisation import layer_norm
from openwork.nn.positions import SinusoidalPositions, exact_sinusoids
from openwork.nn.residual import PostNorm, ResidualSum
from openwork.study.paper.exhibit import DECODER, ENCODER, Computed, exhibit, forward_trace
from openwork.study.steps import SINUSOIDS, made_by, worked

POSITIONS, WIDTH = 6, 8  # of the table of sinusoids that is shown whole


@exhibit(
    "eq 1",
    (attention, attention_weights, attention_scores, scale_of, softmax_over, weighted_sum),
    "tests/nn/test_kernels.py::test_weights_of_one_and_e_over_one_plus_e",
    "tests/nn/test_kernels.py::test_the_scale_divides_by_the_root_of_the_width",
    "tests/nn/test_kernels.py::test_the_kernels_agree",
    "tests/nn/test_kernels.py::test_a_query_that_may_attend_to_nothing_gets_zeros",
    "tests/nn/test_backward.py::test_the_kernels_gradients_are_autograds",
    formula="Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V",
)
def _attention() -> Computed:
    """Each query is compared with every key by their dot product. The softmax makes weights of these scores that add up
    to 1, and what comes out for the query is the mean of the values with these weights.

    The dot product of two vectors of d_k independent numbers of variance 1 has the variance d_k; divided by sqrt(d_k)
    it has the variance 1 again, so that wide heads do not drive the softmax to where its gradient is almost zero.
    `openwork study score-scale` measures it.

    The reference kernel is this formula and what every faster kernel is held to. One thing is ours: a query to which
    everything is hidden gets zeros.
    """
    parts = ("query", "key", "value", "products", "scores", "weights", "heads")
    return Computed(forward_trace(*parts, within=f"{ENCODER}.self_attention."))


@exhibit(
    "eq 2",
    (FeedForward,),
    "tests/nn/test_layers.py::test_feedforward_by_hand",
    "tests/truth/test_claims.py::test_two_convolutions_of_width_one_are_the_feed_forward_network",
    formula="FFN(x) = max(0, x W_1 + b_1) W_2 + b_2",
)
def _feedforward() -> Computed:
    """After the attention each position goes through the same small network by itself: wider, from d_model = 512
    numbers to d_ff = 2048, the negative ones set to zero, and back to 512.

    Two convolutions of width one are the same calculation. Nothing is dropped inside the network, because the paper's
    text drops nothing there; feedforward_dropout does it for those who want it.
    """
    parts = ("attention_wiring.norm", "feedforward.expand", "feedforward.activation", "feedforward.contract")
    return Computed(forward_trace(*parts, within=f"{ENCODER}."))


@exhibit(
    "formula residual",
    (ResidualSum, PostNorm.after, layer_norm),
    "tests/nn/test_layers.py::test_post_norm_ends_with_a_norm_and_pre_norm_begins_with_one",
    "tests/nn/test_layers.py::test_dropout_falls_on_the_sublayer_and_not_on_the_stream",
    "tests/nn/test_layers.py::test_an_encoder_layer_is_the_frameworks",
    formula="LayerNorm(x + Sublayer(x))",
)
def _residual() -> Computed:
    """What a sub-layer gives is added to what went into it, and the sum is normalised: each position's vector loses its
    mean and is divided by its standard deviation, then multiplied by a learnt gain and moved by a learnt shift. In
    training, dropout falls on what the sub-layer gives, before the sum (section 5.4).

    This is post-norm, and the default here. With pre-norm, which most later models have, the norm is before the
    sub-layer and one more ends each stack: model.norm = "pre".
    """
    parts = ("self_attention.output", "attention_wiring.residual", "attention_wiring.norm")
    return Computed(forward_trace("source.sum", *(f"{ENCODER}.{part}" for part in parts)))


@exhibit(
    "formula multi-head",
    (
        MultiHeadAttention.split,
        MultiHeadAttention.join,
        MultiHeadAttention.queries,
        MultiHeadAttention.keys_values,
        MultiHeadAttention.forward,
    ),
    "tests/nn/test_attention.py::test_each_head_is_the_formula",
    "tests/nn/test_attention.py::test_it_is_the_frameworks",
    "tests/parity/test_torch.py::test_attention",
    formula="MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)",
)
def _multi_head() -> Computed:
    """Equation 1 runs h times side by side, each time on other projections of queries, keys and values that are d_model
    / h wide. The results are put next to each other and projected once more.

    The h matrices of one kind are one matrix: a single product makes all queries, and cutting its result into pieces of
    d_k gives the heads. The paper's formulas have no biases, and neither have these.
    """
    parts = ("query", "key", "value", "weights", "heads", "output")
    return Computed(forward_trace("source.sum", *(f"{ENCODER}.self_attention.{part}" for part in parts)))


@exhibit(
    "formula mask",
    (causal, masked_scores),
    "tests/nn/test_masks.py::test_causal_lets_each_query_see_itself_and_what_is_earlier",
    "tests/nn/test_masks.py::test_steps_with_a_cache_are_rows_of_the_whole",
    "tests/models/contract.py::test_no_position_sees_a_later_token",
    formula="score = -inf where key > query",
)
def _mask() -> Computed:
    """While it is trained the decoder is given the whole target at once. So that a position cannot attend to what
    it is to predict, the scores of all later positions are set to minus infinity before the softmax.

    Masks are described and made in one file; True means that a key may be attended.
    """
    return Computed(forward_trace("scores", "masked", "weights", within=f"{DECODER}.self_attention."))


@exhibit(
    "formula embedding",
    (TokenEmbedding, SequenceModel.project),
    "tests/nn/test_layers.py::test_embedding_is_scaled_by_the_root_of_the_width",
    "tests/models/contract.py::test_tying",
    "tests/models/test_transformer.py::test_fresh_logits_have_unit_variance",
    formula="E[id] sqrt(d_model), logits = x E^T",
)
def _embedding() -> Computed:
    """A piece of text is a row of a matrix, multiplied by sqrt(d_model). The same matrix serves the source, the target
    and, without the factor, the output, where its product with the decoder's vector gives a number for each piece of
    the vocabulary.

    The paper does not say how the matrix is drawn. Ours has the variance 1 / d_model, so that embeddings have the
    variance 1 after the factor, and logits too.
    """
    last = f"{DECODER}.feedforward_wiring.norm"
    return Computed(forward_trace("source.ids", "source.lookup", "source.embedding", last, "logits"))


@exhibit(
    "formula positions",
    (exact_sinusoids, SinusoidalPositions),
    "tests/nn/test_positions.py::test_values_by_hand",
    "tests/nn/test_positions.py::test_a_shift_is_a_rotation_of_each_pair",
    "tests/nn/test_positions.py::test_far_positions_are_exact",
    formula="PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))",
)
def _positions() -> Computed:
    """Attention alone does not know the order of its input, so a vector that depends on the position is added to each
    embedding: sines and cosines whose wavelengths grow from 2 pi to 10000 times 2 pi.

    The vectors of two positions that are k apart are turned into each other by a rotation that depends on k alone. The
    table is made in float64, because in float32 far positions would be off in the fourth decimal, and it grows when a
    sentence is longer.
    """
    table = worked("sinusoids", "The first positions at a width of 8, small enough to be read whole",
                   "sin(pos / 10000^(2i / d_model)), cos(pos / 10000^(2i / d_model))",
                   exact_sinusoids(POSITIONS, WIDTH), made_by(exact_sinusoids, SINUSOIDS))  # fmt: skip
    passed = forward_trace("source.embedding", "source.positions", "source.sum")
    return Computed(replace(passed, steps=(table, *passed.steps)))
