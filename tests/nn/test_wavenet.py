"""The layers of van den Oord et al. 2016 against their equations, written as loops."""

import pytest
import torch

from openwork.models.wavenet import DilatedLayer, DilatedStack

WIDTH, SKIP = 4, 3


@pytest.mark.parametrize("is_last", [False, True])
def test_a_layer(is_last: bool) -> None:
    """z_i = tanh(W_f [x_{i-2}; x_i]) sigmoid(W_g [x_{i-2}; x_i]); S z skips, x + V z goes on, of the last x."""
    torch.manual_seed(2)
    layer = DilatedLayer(WIDTH, SKIP, 2, 2, 0.0, is_last=is_last)
    x = torch.randn(1, 5, WIDTH)
    further, skipped, past = layer(x, None, None)
    product = layer.convolution.product
    for i in range(5):
        earlier = x[0, i - 2] if i >= 2 else torch.zeros(WIDTH)
        f, g = (product.weight @ torch.cat([earlier, x[0, i]]) + product.bias).chunk(2)  # type: ignore[operator]
        made = layer.output(torch.tanh(f) * torch.sigmoid(g))
        torch.testing.assert_close(skipped[0, i], made[:SKIP])
        torch.testing.assert_close(further[0, i], x[0, i] if is_last else x[0, i] + made[SKIP:])
    assert past is not None and torch.equal(past, x[:, 3:])


def test_the_output_is_made_of_what_skips() -> None:
    torch.manual_seed(2)
    layers = [DilatedLayer(WIDTH, SKIP, 2, d, 0.0, is_last=d == 4) for d in (1, 2, 4)]
    stack = DilatedStack(WIDTH, 2, layers, 0.0)
    x = torch.randn(2, 6, WIDTH)
    found, pasts = stack(x, stack.pasts)
    y, _ = stack.first(x)
    total = torch.zeros(2, 6, SKIP)
    for layer in layers:
        y, skipped, _ = layer(y, None, None)
        total += skipped
    torch.testing.assert_close(found, stack.readout(total.relu()).relu())
    assert [past.shape[1] for past in pasts if past is not None] == [1, 1, 2, 4]


def test_what_stands_before_a_row_is_never_read() -> None:
    torch.manual_seed(2)
    layers = [DilatedLayer(WIDTH, SKIP, 2, d, 0.0, is_last=d == 2) for d in (1, 2)]
    stack = DilatedStack(WIDTH, 2, layers, 0.0)
    x = torch.randn(1, 6, WIDTH)
    alone, _ = stack(x[:, 2:], stack.pasts)
    real = (torch.arange(6) >= 2)[None, :, None]
    together, pasts = stack(x, stack.pasts, real)
    torch.testing.assert_close(together[:, 2:], alone)
    y = torch.randn(1, 1, WIDTH)
    torch.testing.assert_close(stack(y, pasts)[0], stack(y, stack(x[:, 2:], stack.pasts)[1])[0])
