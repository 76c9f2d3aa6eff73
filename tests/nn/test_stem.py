"""The stem of convolutions, by hand and as one sound beside several; Whisper's sinusoids."""

import math

import torch
from torch.nn import functional

from openwork.nn.features import ConvolutionStem, SpectrogramMasks
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


def test_masks_hide_spans_of_rows_and_of_bands_while_training() -> None:
    """In a sound of ones, what is hidden is whole rows and whole bands, never more of them than the share."""
    masks, lengths = SpectrogramMasks(0.5), torch.tensor([40, 12, 1])
    source = torch.ones(3, 40, 20)
    assert masks.eval()(source, lengths) is source
    masks.train()
    hidden_rows, hidden_bands = [], []
    for _ in range(100):
        kept = masks(source, lengths) == 1
        rows, bands = ~kept.any(2), ~kept.any(1)
        torch.testing.assert_close(kept, ~(rows[:, :, None] | bands[:, None, :]))
        assert not rows[1, 12:].any() and not rows[2].any()
        hidden_rows.append(rows[0])
        hidden_bands.append(bands[0])
    for hidden, size in ((torch.stack(hidden_rows), 40), (torch.stack(hidden_bands), 20)):
        assert hidden.any(0).all() and not hidden.all(0).any()
        assert int(hidden.sum(1).max()) <= size / 2
        edges = hidden.int().diff(dim=1, prepend=torch.zeros(100, 1)).clamp(min=0).sum(1)
        assert int(edges.max()) == 2
    assert SpectrogramMasks(0.0).train()(source, lengths) is source


def test_sines_first_and_cosines_after_them() -> None:
    """The fastest wave turns by 1 a position, the slowest one by 1 / 10,000."""
    rows = SplitSinusoids(6)(torch.zeros(1, 4, 6))[0]
    for place in range(4):
        expected = [f(place / 100**step) for f in (math.sin, math.cos) for step in range(3)]
        torch.testing.assert_close(rows[place], torch.tensor(expected), rtol=0, atol=1e-6)
