"""The parts around attention: feed-forward, residual wiring, embedding, first weights, encoder and decoder layers.

A layer with copied weights must be the framework's own, post-norm and pre-norm.
"""

import pytest
import torch
from torch import nn

from nn.framework import copy_decoder_layer, copy_encoder_layer, disturb
from openwork.nn.attention import Heads, MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding, initialise, output_matrix
from openwork.nn.feedforward import FeedForward, GatedFeedForward
from openwork.nn.layers import DecoderLayer, EncoderLayer
from openwork.nn.masks import EVERYTHING, Mask
from openwork.nn.normalisation import RMSNorm, layer_norm
from openwork.nn.residual import PostNorm, PreNorm, ProjectedResidual

WIDTH, HEADS, INNER = 12, 3, 20
CONNECTIONS = {False: PostNorm, True: PreNorm}  # norm_first, as the framework says it


def test_feedforward_by_hand() -> None:
    # max(0, x W_1 + b_1) W_2 + b_2, x = 2: inner units max(0, 2*1 - 1) = 1 and max(0, 2*-1 + 0) = 0; 3*1 + 5*0 + 7
    layer = FeedForward(1, 2)
    layer.expand.weight.detach().copy_(torch.tensor([[1.0], [-1.0]]))
    layer.expand.bias.detach().copy_(torch.tensor([-1.0, 0.0]))
    layer.contract.weight.detach().copy_(torch.tensor([[3.0, 5.0]]))
    layer.contract.bias.detach().copy_(torch.tensor([7.0]))
    assert layer(torch.tensor([[[2.0]]])).item() == 10.0


def test_feedforward_drops_inner_units_in_training_only() -> None:
    layer, x = FeedForward(6, 50, 0.5), torch.randn(1, 4, 6)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


@pytest.mark.parametrize(
    ("activation", "gate"),
    [(nn.Sigmoid, 0.8807970779), (nn.ReLU, 2.0), (nn.GELU, 1.9544997361), (nn.SiLU, 1.7615941559)],
)
def test_gated_feedforward_by_hand(activation: type[nn.Module], gate: float) -> None:
    # (activation(x W) * x V) W_2 with x = 2, W = 1, V = 3, W_2 = 5: activation(2) * 6 * 5
    layer = GatedFeedForward(1, 1, 0.0, activation)
    for part, value in ((layer.gate, 1.0), (layer.expand, 3.0), (layer.contract, 5.0)):
        part.weight.detach().fill_(value)
    assert layer(torch.tensor([[[2.0]]])).item() == pytest.approx(30 * gate, rel=1e-6)
    assert [*layer.state_dict()] == ["gate.weight", "expand.weight", "contract.weight"]


def test_gated_feedforward_drops_inner_units_in_training_only() -> None:
    layer, x = GatedFeedForward(6, 50, 0.5, nn.SiLU), torch.randn(1, 4, 6)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_another_activation() -> None:
    torch.manual_seed(0)
    layer, x = FeedForward(6, 9, activation=nn.GELU), torch.randn(1, 4, 6)
    inner = x @ layer.expand.weight.T + layer.expand.bias
    normal = torch.distributions.Normal(0.0, 1.0)
    expected = (inner * normal.cdf(inner)) @ layer.contract.weight.T + layer.contract.bias
    torch.testing.assert_close(layer(x), expected)


def test_rms_norm_is_the_formula_and_takes_no_mean_away() -> None:
    x = torch.tensor([3.0, 4.0, 0.0, 0.0])  # the root of the mean square is 2.5
    norm = RMSNorm(4)
    norm.weight.detach().copy_(torch.tensor([1.0, 2.0, 1.0, 1.0]))
    torch.testing.assert_close(norm(x), torch.tensor([1.2, 3.2, 0.0, 0.0]))
    assert [*norm.state_dict()] == ["weight"]
    torch.testing.assert_close(layer_norm(4)(x), nn.functional.layer_norm(x, (4,), eps=1e-6))


@pytest.mark.parametrize("wiring", [PostNorm, PreNorm])
def test_a_wiring_takes_the_norm_it_is_given(wiring: type[PostNorm] | type[PreNorm]) -> None:
    x, y = torch.randn(1, 2, WIDTH) + 5, torch.randn(1, 2, WIDTH)
    wired = wiring(WIDTH, 0.0, RMSNorm)
    assert isinstance(wired.norm, RMSNorm)
    assert not torch.allclose(wired.after(wired.before(x), y), wiring(WIDTH, 0.0).after(wired.before(x), y)) or (
        not torch.allclose(wired.before(x), wiring(WIDTH, 0.0).before(x))
    )
    assert isinstance(PreNorm.final_norm(WIDTH, RMSNorm), RMSNorm)


def test_a_projected_residual_from_256_to_512_has_131072_weights() -> None:
    residual = ProjectedResidual(PreNorm(256, 0.0), 256, 512)
    assert residual.projection.weight.numel() == 131_072 and residual.projection.bias is None
    assert residual.after(torch.randn(1, 2, 256), torch.randn(1, 2, 512)).shape == (1, 2, 512)


@pytest.mark.parametrize("wiring", [PostNorm, PreNorm])
def test_a_projected_residual_is_the_wiring_of_the_projected_stream(wiring: type[PostNorm] | type[PreNorm]) -> None:
    x, y = torch.randn(1, 2, 5), torch.randn(1, 2, 7)
    inner = wiring(wiring.norm_width(5, 7), 0.0)
    residual = ProjectedResidual(inner, 5, 7)
    assert residual.before(x).shape == x.shape
    torch.testing.assert_close(residual.before(x), inner.before(x))
    torch.testing.assert_close(residual.after(x, y), inner.after(x @ residual.projection.weight.T, y))
    if wiring is PreNorm:
        torch.testing.assert_close(residual.after(x, y) - y, x @ residual.projection.weight.T)


def test_embedding_is_scaled_by_the_root_of_the_width() -> None:
    embedding = TokenEmbedding(5, 9)
    torch.testing.assert_close(embedding(torch.tensor([[4, 2]])), 3 * embedding.table.weight[[4, 2]][None])


def test_post_norm_ends_with_a_norm_and_pre_norm_begins_with_one() -> None:
    x, y = torch.randn(2, 3, WIDTH), torch.randn(2, 3, WIDTH)
    post, pre = PostNorm(WIDTH, 0.0), PreNorm(WIDTH, 0.0)
    assert torch.equal(post.before(x), x)
    torch.testing.assert_close(post.after(x, y), nn.functional.layer_norm(x + y, (WIDTH,), eps=1e-6))
    torch.testing.assert_close(pre.before(x), nn.functional.layer_norm(x, (WIDTH,), eps=1e-6))
    assert torch.equal(pre.after(x, y), x + y)
    assert torch.equal(post.final_norm(WIDTH)(x), x)
    torch.testing.assert_close(pre.final_norm(WIDTH)(x), pre.before(x))


@pytest.mark.parametrize("wiring", [PostNorm, PreNorm])
def test_dropout_falls_on_the_sublayer_and_not_on_the_stream(wiring: type[PostNorm] | type[PreNorm]) -> None:
    wired = wiring(WIDTH, 0.999)
    x, y = torch.randn(1, 2, WIDTH), 1e-9 * torch.randn(1, 2, WIDTH)
    expected = wiring(WIDTH, 0.0).after(x, torch.zeros_like(x))
    torch.testing.assert_close(wired.after(x, y), expected, rtol=0, atol=1e-5)


def test_first_weights() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(300, 500), nn.Embedding(700, 64), nn.LayerNorm(8), nn.Linear(3, 5, bias=False))
    initialise(model)
    linear, embedding, norm = model[0], model[1], model[2]
    assert isinstance(linear, nn.Linear) and isinstance(embedding, nn.Embedding) and isinstance(norm, nn.LayerNorm)
    bound = (6 / (300 + 500)) ** 0.5  # Glorot and Bengio 2010, equation 16
    assert bound * 0.999 < linear.weight.abs().max().item() <= bound
    assert linear.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.01)
    assert not linear.bias.any() and not norm.bias.any() and bool((norm.weight == 1).all())
    assert embedding.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert output_matrix(500, 300).abs().max().item() <= bound


def attention() -> MultiHeadAttention:
    return MultiHeadAttention(WIDTH, Heads(HEADS, WIDTH // HEADS, WIDTH // HEADS), bias=True)


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_the_frameworks(norm_first: bool) -> None:
    wiring = CONNECTIONS[norm_first]
    ours = EncoderLayer(attention(), FeedForward(WIDTH, INNER), (wiring(WIDTH, 0.1), wiring(WIDTH, 0.1))).eval()
    disturb(ours)
    theirs = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, 0.1, layer_norm_eps=1e-6, batch_first=True, norm_first=norm_first
    ).eval()
    copy_encoder_layer(ours, theirs)
    x, lengths = torch.randn(2, 5, WIDTH), torch.tensor([5, 3])
    hidden = torch.arange(5)[None] >= lengths[:, None]
    with torch.no_grad():
        expected = theirs(x, src_key_padding_mask=hidden)
        found = ours(x, Mask(lengths))
    real = ~hidden
    torch.testing.assert_close(found[real], expected[real], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_is_the_frameworks(norm_first: bool) -> None:
    wiring = CONNECTIONS[norm_first]
    wirings = (wiring(WIDTH, 0.1), wiring(WIDTH, 0.1), wiring(WIDTH, 0.1))
    ours = DecoderLayer(attention(), attention(), FeedForward(WIDTH, INNER), wirings).eval()
    disturb(ours)
    theirs = nn.TransformerDecoderLayer(
        WIDTH, HEADS, INNER, 0.1, layer_norm_eps=1e-6, batch_first=True, norm_first=norm_first
    ).eval()
    copy_decoder_layer(ours, theirs)
    x, memory, lengths = torch.randn(2, 4, WIDTH), torch.randn(2, 6, WIDTH), torch.tensor([6, 2])
    later = torch.ones(4, 4).triu(1).bool()
    hidden = torch.arange(6)[None] >= lengths[:, None]
    with torch.no_grad():
        expected = theirs(x, memory, tgt_mask=later, memory_key_padding_mask=hidden)
        found, cache = ours(x, ours.start(memory), Mask(lengths))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert cache.past is not None and cache.past.size == 4 and cache.memory.size == 6


def test_a_decoder_layer_leaves_the_cache_it_was_given() -> None:
    layer = DecoderLayer(attention(), attention(), FeedForward(WIDTH, INNER), tuple(PreNorm(WIDTH, 0.0) for _ in "abc"))
    x = torch.randn(1, 2, WIDTH)
    empty = layer.start(torch.randn(1, 3, WIDTH))
    _, one = layer(x[:, :1], empty, EVERYTHING)
    layer(x[:, 1:], one, EVERYTHING)
    assert empty.past is None and one.past is not None and one.past.size == 1
