"""The documents' names, signatures, defaults, attributes and sizes, and 001's own example."""

import inspect
import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from openwork.nn.masks import EVERYTHING
from openwork.study import annotated
from openwork.study.annotated import sequence_first
from openwork.study.annotated.model import EncoderDecoder

# Constructors, then what is called on the object where the document names the arguments.
NAMES_001 = {
    "Embed": "vocab, d_model=512",
    "PositionalEncoding": "d_model=512, dropout=0.1, max_len=5000",
    "Attention": "dropout=0.0",
    "MultiHeadAttention": "h=8, d_model=512, dropout=0.1",
    "LayerNorm": "features, eps=1e-06",
    "ResidualConnection": "size=512, dropout=0.1",
    "FeedForward": "d_model=512, d_ff=2048, dropout=0.1",
    "EncoderLayer": "size, self_attn, feed_forward, dropout=0.1",
    "Encoder": "layer, n=6",
    "DecoderLayer": "size, self_attn, src_attn, feed_forward, dropout=0.1",
    "Decoder": "layer, n=6",
    "EncoderDecoder": "encoder, decoder, src_embed, tgt_embed, final_layer",
    "Output": "input_dim, output_dim",
    "make_model": "input_vocab, output_vocab, d_model=512",
}
NAMES_003 = {
    "PositionalEncoding": "d_model, dropout=0.1, max_len=5000",
    "TransformerEncoder": "encoder_layer, num_layers",
    "TransformerEncoderLayer": "d_model, nhead, dim_feedforward=2048, dropout=0.1",
}
CALLS = {
    "Attention.forward": "query, key, value, mask=None",
    "MultiHeadAttention.forward": "query, key, value, mask=None",
    "ResidualConnection.forward": "x, sublayer",
    "EncoderLayer.forward": "x, mask",
    "Encoder.forward": "x, mask",
    "DecoderLayer.forward": "x, memory, src_mask, tgt_mask",
    "Decoder.forward": "x, memory, src_mask, tgt_mask",
    "EncoderDecoder.forward": "src, tgt, src_mask, tgt_mask",
    "EncoderDecoder.encode": "src, src_mask",
    "EncoderDecoder.decode": "memory, src_mask, tgt, tgt_mask",
    "TransformerEncoder.forward": "src, mask=None",
    "TransformerEncoderLayer.forward": "src, src_mask=None",
}


def signature(call: Callable[..., object]) -> str:
    """The parameters of the document: those that can be given by position."""
    found = [p for p in inspect.signature(call).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default}" for p in found if p.name != "self")


@pytest.mark.parametrize("name", NAMES_001)
def test_a_name_of_001(name: str) -> None:
    assert signature(getattr(annotated, name)) == NAMES_001[name]
    assert name in annotated.__all__ and getattr(annotated, name).__doc__


@pytest.mark.parametrize("name", NAMES_003)
def test_a_name_of_003(name: str) -> None:
    assert signature(getattr(sequence_first, name)) == NAMES_003[name]


@pytest.mark.parametrize("name", CALLS)
def test_how_it_is_called(name: str) -> None:
    owner, _, method = name.partition(".")
    assert signature(getattr(getattr(annotated, owner), method)) == CALLS[name]


@pytest.fixture(scope="module")
def base() -> EncoderDecoder:
    return annotated.make_model(input_vocab=10, output_vocab=10)


@pytest.mark.slow
def test_the_example_of_001(base: EncoderDecoder) -> None:
    src, src_mask = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[1, 1, 1, 1, 1]])
    tgt, tgt_mask = torch.tensor([[6, 7, 8, 0, 0]]), torch.tensor([[1, 1, 1, 0, 0]])
    result = base(src, tgt, src_mask, tgt_mask)
    assert result.argmax(dim=-1).shape == (1, 5)
    torch.testing.assert_close(result.logsumexp(-1), torch.zeros(1, 5), rtol=0, atol=1e-5)


@pytest.mark.slow
def test_the_model_of_001_has_its_sizes_but_for_what_computes_nothing(base: EncoderDecoder) -> None:
    # 48,874,506 in the document's code; of its 18 attentions, each has a projection of 512 * 512 + 512 that is not used
    assert sum(weights.numel() for weights in base.parameters()) == 48_874_506 - 18 * (512 * 512 + 512)
    encoder, decoder = base.encoder.layers, base.decoder.layers
    assert len(encoder) == len(decoder) == 6
    attention = encoder[0].self_attn
    assert (attention.h, attention.d_k, attention.lindim) == (8, 64, (512, 512))
    assert attention.final_linear.bias is None and all(linear.bias is not None for linear in attention.linears)
    assert encoder[0].feed_forward.l1.weight.shape == (2048, 512)


def test_attributes_are_the_parts_that_compute() -> None:
    embed = annotated.Embed(7, 9)
    assert (embed.vocab, embed.d_model, embed.scaling) == (7, 9, 3.0)
    torch.testing.assert_close(embed(torch.tensor([[4]]))[0, 0], 3 * embed.emb.weight[4])
    assert abs(annotated.Embed(500, 100).emb.weight.std().item() - 1) < 0.02

    feed_forward, x = annotated.FeedForward(6, 9, 0.0), torch.randn(1, 2, 6)
    assert feed_forward.dropout.rate == 0.0
    torch.testing.assert_close(feed_forward(x), feed_forward.l2(feed_forward.relu(feed_forward.l1(x))))

    sub = annotated.ResidualConnection(6, 0.0)
    torch.testing.assert_close(sub(x, torch.square), x + sub.norm(x).square())
    assert annotated.ResidualConnection(6, 0.3).dropout.rate == 0.3

    layer = sequence_first.TransformerEncoderLayer(6, 2, 9, 0.0)
    attended = layer.norm1(x + layer.self_attn(x.transpose(0, 1), EVERYTHING).transpose(0, 1))
    inner = layer.linear2(layer.linear1(attended).relu())
    torch.testing.assert_close(layer(x), layer.norm2(attended + inner))


def test_the_norm_divides_by_the_deviation_of_all_numbers() -> None:
    norm = annotated.LayerNorm(4)
    norm.gamma.detach().fill_(2.0)
    norm.beta.detach().fill_(1.0)
    # mean 2.5, variance 1.25; the document's code would divide by sqrt(5 / 3)
    expected = [1 + 2 * value / math.sqrt(1.25) for value in (-1.5, -0.5, 0.5, 1.5)]
    torch.testing.assert_close(norm(torch.tensor([1.0, 2.0, 3.0, 4.0])), torch.tensor(expected))
    assert norm(torch.full((4,), 3.0)).tolist() == [1.0] * 4
    assert annotated.LayerNorm(4, eps=1.25)(torch.tensor([1.0, 2.0, 3.0, 4.0]))[3].item() == pytest.approx(
        1.5 / math.sqrt(2.5)
    )


@pytest.mark.slow
def test_positions() -> None:
    positions = annotated.PositionalEncoding()
    assert positions.pe.shape == (1, 5000, 512) and positions.dropout.rate == 0.1
    assert positions.pe[0, 4999, 0].item() == pytest.approx(math.sin(4999), abs=1e-7)
    turned = sequence_first.PositionalEncoding(4, 0.0, 5)
    assert turned.pe.shape == (5, 1, 4)
    x = torch.randn(3, 2, 4)  # three positions of two sentences
    torch.testing.assert_close(turned(x), x + turned.pe[:3])
    assert annotated.PositionalEncoding(5, 0.0, 2)(torch.zeros(1, 7, 5)).shape == (1, 7, 5)  # odd, and beyond max_len
    assert annotated.PositionalEncoding(512, 0.5, 2)(torch.ones(1, 2, 512)).eq(0).any()


@pytest.mark.parametrize("width", [3, 5, 12, 20])
def test_any_width(width: int) -> None:
    """One that 8 heads do not divide, and one below their number, among them."""
    model = annotated.make_model(7, 11, width, n=1, d_ff=13).eval()
    src, tgt = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([[6, 10], [9, 8]])
    found = model(src, tgt, (src != 0).long(), None)
    assert found.shape == (2, 2, 11)
    torch.testing.assert_close(found.logsumexp(-1), torch.zeros(2, 2), rtol=0, atol=1e-5)


def test_evaluation_drops_nothing_and_training_does() -> None:
    model = annotated.make_model(7, 7, 16, n=1, d_ff=13, dropout=0.5)
    src = torch.tensor([[1, 2, 3]])
    assert not torch.equal(model(src, src, None, None), model(src, src, None, None))
    model.eval()
    assert torch.equal(model(src, src, None, None), model(src, src, None, None))
    attention, x = annotated.Attention(0.5), torch.randn(4, 8)
    assert not torch.equal(attention(x, x, x), attention(x, x, x))
    attention.eval()
    assert torch.equal(attention(x, x, x), attention(x, x, x))


def test_attention_weights_alone_are_dropped_at_the_rate_of_the_attention() -> None:
    attention, x = annotated.MultiHeadAttention(2, 8, 0.5), torch.randn(1, 5, 8)
    assert attention.dropout is attention.attn.dropout and attention.dropout.rate == 0.5
    assert not torch.equal(attention(x, x, x), attention(x, x, x))
    attention.eval()
    assert torch.equal(attention(x, x, x), attention(x, x, x))


def test_the_layers_of_a_new_model_are_not_copies() -> None:
    model = annotated.make_model(7, 7, 16, n=2, d_ff=13)
    first, second = model.encoder.layers
    assert not torch.equal(first.self_attn.linears[0].weight, second.self_attn.linears[0].weight)
    assert not any(weights.any() for name, weights in model.named_parameters() if name.endswith("bias"))
    stack = annotated.Encoder(first, 2)
    assert torch.equal(stack.layers[1].feed_forward.l1.weight, first.feed_forward.l1.weight)
    assert stack.layers[1].feed_forward.l1.weight is not first.feed_forward.l1.weight


def test_a_part_that_is_exchanged_is_heeded() -> None:
    model = annotated.make_model(7, 7, 16, n=1, d_ff=13).eval()
    src = torch.tensor([[1, 2, 3]])
    before = model(src, src, None, None)
    model.encoder.layers[0].feed_forward = annotated.FeedForward(16, 5)
    assert not torch.allclose(model.eval()(src, src, None, None), before)


@pytest.mark.slow
def test_a_model_trains_and_its_weights_can_be_saved() -> None:
    torch.manual_seed(0)
    model = annotated.make_model(7, 7, 16, n=1, h=2, d_ff=32, dropout=0.0)
    src = torch.tensor([[1, 2, 3, 4], [4, 6, 5, 2]])
    start = torch.cat((torch.zeros(2, 1, dtype=torch.long), src[:, :-1]), dim=1)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(25):
        loss = nn.functional.nll_loss(model(src, start, None, None).flatten(0, 1), src.flatten())
        optimiser.zero_grad()
        loss.backward()
        assert all(weights.grad is not None for weights in model.parameters())
        optimiser.step()
    assert torch.equal(model(src, start, None, None).argmax(-1), src)
    other = annotated.make_model(7, 7, 16, n=1, h=2, d_ff=32, dropout=0.0)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(src, start, None, None), model(src, start, None, None))


def test_twenty_positions_of_thirty_thousand_give_twenty_tokens() -> None:
    output = annotated.Output(2, 30_000)
    assert output(torch.randn(20, 2)).argmax(-1).shape == (20,)
    assert isinstance(annotated.make_model(5, 5, 4, n=1, d_ff=4), EncoderDecoder)
