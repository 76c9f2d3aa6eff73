"""Sinusoidal positions: values by hand, and the property that the paper chose them for."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import ConfigError
from openwork.nn.positions import LearnedPositions, NoPositions, SinusoidalPositions, SinusoidTable, sinusoids


def test_values_by_hand() -> None:
    # width 4: the pairs turn by 1 and by 1 / 10000^(2/4) = 0.01 a position
    expected = [[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    torch.testing.assert_close(sinusoids(2, 4), torch.tensor(expected))


def test_far_positions_are_exact() -> None:
    assert sinusoids(5001, 2)[5000, 0].item() == pytest.approx(math.sin(5000), abs=1e-7)


def test_an_odd_width_ends_with_a_sine() -> None:
    table = sinusoids(3, 5)
    assert table.shape == (3, 5)
    assert table[2, 4].item() == pytest.approx(math.sin(2 * 10000 ** (-4 / 5)))


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([2, 6, 16]))
def test_a_shift_is_a_rotation_of_each_pair(position: int, shift: int, width: int) -> None:
    # "for any fixed offset k, PE(pos+k) can be represented as a linear function of PE(pos)" (section 3.5)
    table = sinusoids(position + shift + 1, width).double()
    frequency = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    sine, cosine = (shift * frequency).sin(), (shift * frequency).cos()
    now, later = table[position].unflatten(0, (-1, 2)), table[position + shift].unflatten(0, (-1, 2))
    rotated = torch.stack((now[:, 0] * cosine + now[:, 1] * sine, now[:, 1] * cosine - now[:, 0] * sine), dim=-1)
    torch.testing.assert_close(rotated, later, rtol=0, atol=1e-6)


def test_the_module_adds_the_rows_from_the_first_position_on() -> None:
    positions = SinusoidalPositions(6, size=8)
    x = torch.randn(2, 3, 6)
    torch.testing.assert_close(positions(x, 4), x + sinusoids(8, 6)[4:7])


def test_the_table_grows_and_keeps_its_values() -> None:
    positions = SinusoidalPositions(6, size=2)
    x = torch.zeros(1, 5, 6)
    assert torch.equal(positions(x)[0], sinusoids(5, 6))
    assert torch.equal(positions(x, 90)[0], sinusoids(95, 6)[90:])
    assert not positions.state_dict()  # made anew, never saved


def test_a_table_that_grew_while_translating_serves_training() -> None:
    positions = SinusoidalPositions(2, size=1)
    with torch.inference_mode():
        positions(torch.zeros(1, 5, 2))
    assert not positions.table.is_inference()


def test_learned_positions_add_their_rows() -> None:
    positions = LearnedPositions(6, 8)
    x = torch.randn(2, 3, 6)
    torch.testing.assert_close(positions(x, 5), x + positions.table.weight[5:8])
    assert positions.maximum_length == 8 and positions.table.weight.requires_grad


@pytest.mark.parametrize(("length", "first"), [(9, 0), (1, 8), (3, 6)])
def test_a_sentence_behind_the_learned_table_is_an_error_with_the_remedy(length: int, first: int) -> None:
    with pytest.raises(ConfigError, match=f"{first + length} tokens does not fit into 8") as refused:
        LearnedPositions(6, 8)(torch.zeros(1, length, 6), first)
    assert f"set model.maximum_length to {first + length}" in refused.value.hint


def test_learned_positions_of_512_by_512_have_262144_weights() -> None:
    assert sum(weight.numel() for weight in LearnedPositions(512, 512).parameters()) == 262_144


def test_no_positions_add_nothing() -> None:
    x = torch.randn(2, 3, 6)
    assert (
        NoPositions()(x, 7) is x
        and NoPositions().maximum_length is None
        and SinusoidalPositions(6).maximum_length is None
    )


def test_a_table_with_another_base_keeps_it_when_it_grows() -> None:
    positions = SinusoidTable(4, size=2, base=100.0)
    row = positions.rows(9, 10)[0].tolist()  # the pairs turn by 1 and by 1 / 100^(2/4) = 0.1 a position
    assert row == pytest.approx([math.sin(9), math.cos(9), math.sin(0.9), math.cos(0.9)], abs=1e-6)
