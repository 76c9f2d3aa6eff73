"""Readers of both directions: what each has read, layer by layer, and the mixture of layers by hand."""

import math

import pytest
import torch

from nn.cells import CELLS, GateWeights, unroll
from openwork.models.recurrent_lm import LayerMixture, OneDirection, Topmost, reversed_rows
from openwork.nn.pooling import greatest_of


def test_the_mixture_by_hand() -> None:
    """softmax(0, ln 3) = (1/4, 3/4): 2 (1/4 (4, 0) + 3/4 (0, 8)) = (2, 12)."""
    mixture = LayerMixture(2)
    layers = [torch.tensor([[[4.0, 0.0]]]), torch.tensor([[[0.0, 8.0]]])]
    torch.testing.assert_close(mixture(layers), torch.tensor([[[2.0, 4.0]]]))  # at first the mean
    with torch.no_grad():
        mixture.weights.copy_(torch.tensor([0.0, math.log(3)]))
        mixture.scale.fill_(2.0)
    torch.testing.assert_close(mixture.shares, torch.tensor([0.25, 0.75]))
    torch.testing.assert_close(mixture(layers), torch.tensor([[[2.0, 12.0]]]))
    assert torch.equal(Topmost()(layers), layers[1])


def test_rows_are_turned_within_their_lengths() -> None:
    x = torch.arange(8.0).view(2, 4, 1)
    lengths = torch.tensor([4, 2])
    assert reversed_rows(x, lengths)[..., 0].tolist() == [[3, 2, 1, 0], [5, 4, 6, 7]]
    assert torch.equal(reversed_rows(reversed_rows(x, lengths), lengths), x)
    assert greatest_of(x, lengths).tolist() == [[3], [5]]


@pytest.mark.parametrize("cell", CELLS)
def test_each_layer_reads_the_one_below_it(cell: str) -> None:
    torch.manual_seed(1)
    reader, x = OneDirection(3, 2, 0.5, cell).eval(), torch.randn(2, 5, 3)
    known = reader(x)
    below, kind = x, CELLS[cell]
    for layer, found in zip(reader.layers, known, strict=True):
        below, _ = unroll(kind, below.unbind(1), kind.beginning(x, 3), GateWeights.of(layer, "_l0"))  # type: ignore[arg-type]
        torch.testing.assert_close(found, below)
