"""The layers of Gehring et al. 2017 against their equations, written as loops."""

import pytest
import torch
from torch import Tensor

from openwork.models.convs2s import (
    ConvolutionalEncoder,
    ConvolutionalMemory,
    DecoderBlock,
    EncoderBlock,
    MultiStepAttention,
    gated,
    linear,
    with_gradient_scaled,
)
from openwork.nn.cache import KeyValue
from openwork.nn.kernels import reference

WIDTH, EMBEDDING, KERNEL = 4, 6, 3
HALF = 0.5**0.5


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def some_memory(lengths: list[int]) -> ConvolutionalMemory:
    z, e = torch.randn(2, len(lengths), 1, max(lengths), EMBEDDING)
    return ConvolutionalMemory(KeyValue(z, (z + e) * HALF), torch.tensor(lengths))


def glu(x: Tensor) -> Tensor:
    return x[: len(x) // 2] * torch.sigmoid(x[len(x) // 2 :])


def test_a_block_of_the_encoder() -> None:
    block = EncoderBlock(WIDTH, KERNEL, 0.0)
    x, length = torch.randn(1, 5, WIDTH), 4
    found = block(x, torch.tensor([length]))
    product = block.convolution.product
    for i in range(length):
        window = [x[0, j] if 0 <= j < length else torch.zeros(WIDTH) for j in (i - 1, i, i + 1)]
        v = product.weight() @ torch.cat(window) + product.bias  # type: ignore[operator]
        torch.testing.assert_close(found[0, i], (glu(v) + x[0, i]) * HALF)


def test_a_step_of_attention() -> None:
    attention = MultiStepAttention(WIDTH, EMBEDDING, reference.attention)
    memory = some_memory([3, 5])
    h, g = torch.randn(2, 2, WIDTH), torch.randn(2, 2, EMBEDDING)
    found = attention(h, g, memory)
    key, value = memory.keys_values.key[:, 0], memory.keys_values.value[:, 0]
    for row, m in enumerate([3, 5]):
        for i in range(2):
            d = (attention.query(h[row, i]) + g[row, i]) * HALF
            weights = torch.stack([d @ key[row, j] for j in range(m)]).softmax(0)
            c = m**0.5 * sum(weights[j] * value[row, j] for j in range(m))
            torch.testing.assert_close(found[row, i], attention.output(c))


def test_a_block_of_the_decoder() -> None:
    block = DecoderBlock(WIDTH, KERNEL, 0.0, MultiStepAttention(WIDTH, EMBEDDING, reference.attention))
    memory, x, g = some_memory([3]), torch.randn(1, 4, WIDTH), torch.randn(1, 4, EMBEDDING)
    found, past = block(x, g, memory, None)
    product = block.convolution.product
    for i in range(4):
        window = [x[0, j] if j >= 0 else torch.zeros(WIDTH) for j in (i - 2, i - 1, i)]
        h = glu(product.weight() @ torch.cat(window) + product.bias)  # type: ignore[operator]
        attended = block.cross_attention(h[None, None], g[:, i : i + 1], memory)[0, 0]
        torch.testing.assert_close(found[0, i], ((h + attended) * HALF + x[0, i]) * HALF)
    assert past is not None and torch.equal(past, x[:, 2:])


def test_the_memory() -> None:
    encoder = ConvolutionalEncoder(EMBEDDING, WIDTH, [EncoderBlock(WIDTH, KERNEL, 0.0)], 3)
    embedded = torch.randn(2, 4, EMBEDDING)
    lengths = torch.tensor([4, 2])
    memory = encoder(embedded, lengths)
    z = encoder.narrow(encoder.layers[0](encoder.widen(embedded), lengths))
    torch.testing.assert_close(memory.keys_values.key[:, 0], z)
    torch.testing.assert_close(memory.keys_values.value[:, 0], (z + embedded) * HALF)


def test_the_gradient_of_the_encoder_is_divided() -> None:
    x = torch.randn(3, requires_grad=True)
    same = with_gradient_scaled(x, 0.25)
    assert torch.equal(same, x)
    assert torch.autograd.grad(same.sum(), x)[0].tolist() == [0.25] * 3
    # Of what goes through the encoder, and not of what goes past it: the values hold the embeddings themselves.
    embedded = torch.randn(1, 2, EMBEDDING, requires_grad=True)
    whole, third = (ConvolutionalEncoder(EMBEDDING, WIDTH, [], askers) for askers in (1, 3))
    third.load_state_dict(whole.state_dict())
    first, second = (
        torch.autograd.grad(encoder(embedded, torch.tensor([2])).keys_values.value.sum(), embedded)[0]
        for encoder in (whole, third)
    )
    torch.testing.assert_close(second, (first - HALF) / 3 + HALF)


def test_first_weights_keep_the_variance() -> None:
    """N(0, p / n) behind a dropout that keeps p; 4 p / n where a gated linear unit follows."""
    plain, wide = linear(100, 200, 0.2), gated(100, 200, 0.2)
    assert plain.direction.std().item() == pytest.approx((0.8 / 100) ** 0.5, rel=0.02)
    assert wide.direction.std().item() == pytest.approx((3.2 / 100) ** 0.5, rel=0.02)
    block = EncoderBlock(64, KERNEL, 0.0)
    x = torch.randn(1, 3000, 64) * 0.2
    y = block(x, torch.tensor([3000]))
    assert y.std().item() == pytest.approx(0.2, rel=0.05)
