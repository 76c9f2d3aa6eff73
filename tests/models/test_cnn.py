"""The convolutional network of pictures: equal to convolutions and pooling by the formula, and by torch's layers."""

import pytest
import torch
from torch.nn import functional

from openwork.models.build import build_model
from openwork.models.cnn import ConvolutionalClassifier
from openwork.models.convolutional_settings import CnnSettings
from openwork.nn.convolution import PooledConvolution, as_grid


def test_positions_are_laid_row_by_row() -> None:
    source = torch.arange(10.0).reshape(1, 5, 2)
    grid, is_real = as_grid(source, torch.tensor([4]), columns=3)
    assert grid[0, 0].tolist() == [[0, 2, 4], [6, 0, 0]] and grid[0, 1].tolist() == [[1, 3, 5], [7, 0, 0]]
    assert is_real[0, 0].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_one_layer_by_hand() -> None:
    """A convolution that adds up a place and its neighbours on both sides, minus 6."""
    layer = PooledConvolution(1, 1, 3)
    with torch.no_grad():
        layer.convolution.weight.copy_(torch.tensor([[0.0, 0, 0], [1, 1, 1], [0, 0, 0]])[None, None])
        layer.convolution.bias.fill_(-6)
    x = torch.tensor([[1.0, 2, 3, 4, 0], [9, 0, 0, 0, 0], [0, 0, 0, 0, 7]])[None, None]
    pooled, is_real = layer(x, torch.ones_like(x))
    # sums: 3 6 9 7 4 | 9 9 0 0 0 | 0 0 0 7 7, less 6 and none below 0
    assert pooled[0, 0].tolist() == [[3, 3, 0], [0, 1, 1]] and is_real[0, 0].tolist() == [[1, 1, 1], [1, 1, 1]]


@pytest.mark.parametrize("rows", [4, 7])
def test_whole_pictures_are_read_as_by_torch(rows: int) -> None:
    settings = CnnSettings(width=4, layers=2, columns=6)
    torch.manual_seed(2)
    model = build_model(settings, 3, 9).eval()
    assert isinstance(model, ConvolutionalClassifier)
    source = torch.randn(2, rows * 6, 3)
    x = source.transpose(1, 2).reshape(2, 3, rows, 6)
    for layer in model.layers:
        assert isinstance(layer, PooledConvolution)
        convolution = layer.convolution
        x = functional.conv2d(x, convolution.weight, convolution.bias, padding=1)
        x = functional.max_pool2d(functional.relu(x), 2, ceil_mode=True)
    logits, _ = model.step(torch.zeros(2, 2, dtype=torch.long), model.start(source, torch.full((2,), rows * 6)))
    torch.testing.assert_close(logits[:, 0], model.project(x.mean(dim=(2, 3))))
    assert torch.equal(logits[0, 1], logits[1, 1])  # the end follows every label
