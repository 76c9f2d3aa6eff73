"""Attention weights by other formulas than the paper's, by hand and against each other."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from openwork.nn.attention import (
    AdditiveScores,
    Heads,
    MultiHeadAttention,
    PlainProducts,
    RectifiedProducts,
    ScaledProducts,
    rectified_weights,
)
from openwork.nn.feedforward import ConvolutionalFeedForward, FeedForward
from openwork.nn.kernels import fused, packed, reference
from openwork.nn.masks import CAUSAL, EVERYTHING, Mask, Segments
from openwork.nn.recording import recording
from openwork.nn.recurrent_decoders import AdditiveAttention, RecurrentMemory
from openwork.nn.residual import BranchNorm, WithoutNorm, WithoutResidual


def heads(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def attention(weighing: ScaledProducts, kernel: object = fused.attention) -> MultiHeadAttention:
    torch.manual_seed(1)
    made = MultiHeadAttention(6, Heads(2, 4, 3), kernel=kernel)  # type: ignore[arg-type]
    made.use_score_function(weighing)
    return made.double()


def test_rectified_weights_by_hand() -> None:
    query, key = torch.tensor([[[[2.0, 0.0]]]]), torch.tensor([[[[1.0, 5.0], [3.0, 0.0], [-4.0, 1.0]]]])
    third = torch.tensor([1.0, 3.0, 0.0]) / 3  # of 1, 3 and -4
    assert torch.equal(rectified_weights(query, key, EVERYTHING, 0.5)[0, 0, 0], third)
    hidden = Mask(key_lengths=torch.tensor([2]))
    assert rectified_weights(query, key, hidden, 0.5).tolist() == [[[[0.5, 1.5, 0.0]]]]
    assert rectified_weights(-query, key[:, :, :2], EVERYTHING, 0.5).tolist() == [[[[0.0, 0.0]]]]


def test_rectified_attention_of_nothing_has_a_gradient_without_nan() -> None:
    query, key = heads(1, 1, 2, 3).requires_grad_(), heads(1, 1, 4, 3, seed=1)
    rectified_weights(query, key, Mask(key_lengths=torch.tensor([0])), 1.0).sum().backward()
    assert query.grad is not None and query.grad.isfinite().all()


def test_additive_scores_by_hand() -> None:
    weighing = AdditiveScores(2, 2)
    weighing.vector.detach().copy_(torch.tensor([[1.0, -2.0], [0.5, 0.0]]))
    query, key = torch.tensor([0.25, -1.0]), torch.tensor([0.5, 1.5])
    found = weighing.scores(query.expand(1, 2, 1, 2), key.expand(1, 2, 3, 2))
    first = math.tanh(0.75) - 2 * math.tanh(0.5)
    torch.testing.assert_close(
        found, torch.tensor([first, 0.5 * math.tanh(0.75)])[None, :, None, None].expand(1, 2, 1, 3)
    )


def test_one_head_of_additive_weights_is_bahdanaus_attention() -> None:
    """The same matrices, and v; the values are not projected there."""
    theirs, ours = AdditiveAttention(5, 5, 4).double(), AdditiveScores(1, 4).double()
    ours.vector.detach().copy_(theirs.score.weight)
    x, memory = heads(2, 3, 5), heads(2, 6, 5, seed=1)
    mask = Mask(key_lengths=torch.tensor([6, 2]))
    _, expected = theirs(x, RecurrentMemory(memory, theirs.keys(memory), mask.boolean(3, 6, x.device)))
    found = ours.weights(theirs.query(x)[:, None], theirs.keys(memory)[:, None], mask, 1.0)
    torch.testing.assert_close(found[:, 0], expected)


def test_unscaled_is_the_softmax_of_the_products() -> None:
    made = attention(PlainProducts())
    x = heads(2, 5, 6)
    with recording(made) as kept:
        made(x, made.keys_values(x), CAUSAL)
    query, key = made.queries(x), made.keys_values(x).key
    hidden = torch.ones(5, 5).triu(1).bool()
    torch.testing.assert_close(kept[""][0], (query @ key.mT).masked_fill(hidden, -torch.inf).softmax(-1))


@pytest.mark.parametrize("weighing", [RectifiedProducts(), AdditiveScores(2, 4)])
@pytest.mark.parametrize("mask", [EVERYTHING, CAUSAL, Mask(key_lengths=torch.tensor([5, 2]))])
def test_every_kernel_gives_what_the_formula_gives(weighing: ScaledProducts, mask: Mask) -> None:
    made, x = attention(weighing), heads(2, 5, 6)
    query, asked = made.queries(x), made.keys_values(x)
    assert made.weighing.weight_function is not None
    weights = made.weighing.weight_function(query, asked.key, mask, 0.5, None)
    expected = made.output(made.join(weights @ asked.value))
    for kernel in (fused.attention, packed.attention, reference.attention):
        made.kernel = kernel
        torch.testing.assert_close(made(x, asked, mask), expected)
    with recording(made) as kept:
        torch.testing.assert_close(made(x, asked, mask), expected)
    torch.testing.assert_close(kept[""][0], weights)
    assert torch.allclose(weights.sum(-1), torch.ones(()).double()) or isinstance(weighing, RectifiedProducts)


def test_packed_rows_are_weighed_sentence_by_sentence() -> None:
    made, x = attention(AdditiveScores(2, 4), packed.attention), heads(1, 5, 6)
    starts, places = torch.tensor([0, 2, 5], dtype=torch.int32), torch.tensor([0, 1, 0, 1, 2])
    segments = Segments(starts, places, 3)
    found = made(x, made.keys_values(x), Mask(is_causal=True, segments=(segments, segments)))
    alone = [made(part, made.keys_values(part), CAUSAL) for part in (x[:, :2], x[:, 2:])]
    torch.testing.assert_close(found, torch.cat(alone, dim=1))


def test_convolutions_of_one_position_are_the_feed_forward_network() -> None:
    """The same numbers, with a third axis: the same output and the same gradients."""
    linear, convolution = FeedForward(6, 9).double(), ConvolutionalFeedForward(6, 9).double()
    assert {name: w.shape[:2] for name, w in linear.named_parameters()} == {
        name: w.shape[:2] for name, w in convolution.named_parameters()
    }
    for ours, theirs in zip(convolution.parameters(), linear.parameters(), strict=True):
        ours.detach().copy_(theirs.reshape(ours.shape))
    x = heads(2, 5, 6)
    torch.testing.assert_close(convolution(x), linear(x), rtol=0, atol=1e-15)
    convolution(x).square().sum().backward()
    linear(x).square().sum().backward()
    for ours, theirs in zip(convolution.parameters(), linear.parameters(), strict=True):
        assert ours.grad is not None and theirs.grad is not None
        torch.testing.assert_close(ours.grad.reshape(theirs.shape), theirs.grad)


def test_connections_without_a_norm_and_without_a_residual_by_hand() -> None:
    x, made = torch.tensor([[[10.0, 20.0]]]), torch.tensor([[[5.0, 9.0]]])
    bare = WithoutNorm(2, 0.0)
    assert torch.equal(bare.before(x), x) and not list(bare.parameters())
    assert torch.equal(bare.after(x, made), torch.tensor([[[15.0, 29.0]]]))
    assert torch.equal(WithoutNorm.final_norm(2)(x), x)
    alone = WithoutResidual(2, 0.0)
    assert torch.equal(alone.before(x), x)
    torch.testing.assert_close(alone.after(x, made), torch.tensor([[[-1.0, 1.0]]]))
    assert torch.equal(alone.after(2 * x, made), alone.after(x, made))


def test_a_norm_on_the_branch_by_hand() -> None:
    wiring = BranchNorm(2, 0.0)
    assert isinstance(wiring.norm, nn.LayerNorm)
    wiring.norm.weight.detach().fill_(3.0)
    x, made = torch.tensor([[[10.0, 20.0]]]), torch.tensor([[[5.0, 9.0]]])
    assert torch.equal(wiring.before(x), x)
    torch.testing.assert_close(wiring.after(x, made), torch.tensor([[[7.0, 23.0]]]))
    closing = BranchNorm.final_norm(2)
    torch.testing.assert_close(closing(x), functional.layer_norm(x, (2,)))
