"""The layers of Kalchbrenner et al. 2016 against their definition."""

import torch
from torch import Tensor
from torch.nn import functional

from openwork.models.bytenet import ColumnDecoder, ColumnEncoder, block, columns_for


def test_columns_by_hand() -> None:
    # 1.2 n + 2 rounded up: 8, 9.2, 3.2; a source of nothing has none
    assert columns_for(torch.tensor([5, 6, 1, 0]), 1.2, 2).tolist() == [8, 10, 4, 0]
    assert columns_for(torch.tensor([7, 3]), 1.0, 0).tolist() == [7, 3]


def normalised(x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], eps=1e-6)


def test_a_block_is_figure_3() -> None:
    torch.manual_seed(3)
    x = torch.randn(2, 7, 8)
    for causal in (True, False):
        one = block(8, 3, 2, 0.0, causal=causal)
        product = one.convolution.product
        contracted = one.contract(normalised(x).relu())
        kernel = product.weight.unflatten(1, (3, 4)).transpose(1, 2)  # type: ignore[operator]
        before = functional.pad(normalised(contracted).relu().transpose(1, 2), (4, 0) if causal else (2, 2))
        inside = functional.conv1d(before, kernel, product.bias, dilation=2).transpose(1, 2)  # type: ignore[arg-type]
        expected = x + one.expand(normalised(inside).relu())
        if causal:
            found = ColumnDecoder(8, [one], 0.0)
            y, _ = found(x, (None,))
            torch.testing.assert_close(y, found.readout(normalised(expected).relu()).relu())
        else:
            found = ColumnEncoder(8, [one])
            torch.testing.assert_close(found(x, torch.tensor([7, 7])), normalised(expected))


def test_columns_behind_a_source_are_zero_and_never_read() -> None:
    torch.manual_seed(3)
    encoder = ColumnEncoder(8, [block(8, 3, dilation, 0.0, causal=False) for dilation in (1, 2)])
    x = torch.randn(2, 6, 8)
    together = encoder(x, torch.tensor([6, 4]))
    assert not together[1, 4:].any()
    torch.testing.assert_close(encoder(x[1:, :4], torch.tensor([4])), together[1:, :4])
