"""The stem of convolutions, by hand and as one sound beside several; Whisper's sinusoids."""

import math

import torch
from torch.nn import functional

from openwork.nn.features import ConvolutionStem
from openwork.nn.positions import SplitSinusoids


def test_by_hand() -> None:
    """Both kernels add three neighbours up; the second one takes positions 0, 2 and 4."""
    stem = ConvolutionStem(1, 1)
    for convolution in (stem.first, stem.second):
        torch.nn.init.ones_(convolution.weight)
        torch.nn.init.zeros_(convolution.bias)
    source = torch.tensor([[[1.0], [2.0], [3.0], [4.0], [5.0]]])
    a, b, c, d, e = functional.gelu(torch.tensor([3.0, 6.0, 9.0, 12.0, 9.0]))
    expected = functional.gelu(torch.stack([a + b, b + c + d, d + e]))
    found = stem(source, torch.tensor([5]))[0, :, 0]
    torch.testing.assert_close(found, expected)
    assert stem.lengths(torch.tensor([0, 1, 2, 5, 6])).tolist() == [0, 1, 1, 3, 3]


def test_padding_is_what_is_outside_of_a_sound() -> None:
    stem, source = ConvolutionStem(3, 4), torch.randn(2, 7, 3)
    for length in (1, 2, 4, 7):
        lengths = torch.tensor([length, 7])
        alone = stem(source[:1, :length], lengths[:1])
        torch.testing.assert_close(stem(source, lengths)[0, : alone.shape[1]], alone[0])


def test_sines_first_and_cosines_after_them() -> None:
    """The fastest wave turns by 1 a position, the slowest one by 1 / 10,000."""
    rows = SplitSinusoids(6)(torch.zeros(1, 4, 6))[0]
    for place in range(4):
        expected = [f(place / 100**step) for f in (math.sin, math.cos) for step in range(3)]
        torch.testing.assert_close(rows[place], torch.tensor(expected), rtol=0, atol=1e-6)
