"""Masks, written out by hand: True means *may attend*."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from openwork.nn.masks import CAUSAL, EVERYTHING, Mask, causal, padding

CPU = torch.device("cpu")
Y, N = True, False


def test_padding_hides_what_is_behind_the_length() -> None:
    assert padding(torch.tensor([3, 1, 0]), 3).tolist() == [[[[Y, Y, Y]]], [[[Y, N, N]]], [[[N, N, N]]]]


def test_causal_lets_each_query_see_itself_and_what_is_earlier() -> None:
    assert causal(3, 3).tolist() == [[[[Y, N, N], [Y, Y, N], [Y, Y, Y]]]]


def test_with_a_cache_the_last_query_stands_at_the_last_key() -> None:
    # two new positions after two old ones: the first of them is position 2
    assert causal(2, 4).tolist() == [[[[Y, Y, Y, N], [Y, Y, Y, Y]]]]
    assert causal(1, 3).tolist() == [[[[Y, Y, Y]]]]


def test_more_queries_than_keys_leave_rows_of_nothing() -> None:
    assert causal(3, 2).tolist() == [[[[N, N], [Y, N], [Y, Y]]]]


def test_a_mask_of_nothing_is_no_tensor() -> None:
    assert EVERYTHING.boolean(2, 3, CPU) is None
    assert CAUSAL.boolean(1, 7, CPU) is None  # a single query stands at the end: nothing is later


def test_conditions_hold_together() -> None:
    found = Mask(torch.tensor([1, 3]), is_causal=True).boolean(2, 3, CPU)
    assert found is not None
    assert found.tolist() == [[[[Y, N, N], [Y, N, N]]], [[[Y, Y, N], [Y, Y, Y]]]]


@given(st.integers(1, 7), st.integers(1, 7))
def test_steps_with_a_cache_are_rows_of_the_whole(past: int, new: int) -> None:
    whole = causal(past + new, past + new)
    assert torch.equal(causal(new, past + new), whole[:, :, past:])
