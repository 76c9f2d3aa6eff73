"""Whose id is whose."""

import pytest
import torch

from interop.conversions import to_external, to_own
from openwork.interop.vocabulary import Vocabulary

pytestmark = pytest.mark.slow


def test_symbols_first_and_the_others_in_their_order() -> None:
    vocabulary = Vocabulary.of(6, pad=5, unknown=1, start=5, end=0)  # as Marian has it: targets start with padding
    assert vocabulary.external == (5, 1, 5, 0, 2, 3, 4) and vocabulary.size == 7
    assert to_own(vocabulary, [2, 4, 0, 5]) == [4, 6, 3, 0]  # padding is our padding, not our start
    assert to_external(vocabulary, [2, 4, 6, 3]) == [5, 2, 4, 0]
    assert to_own(Vocabulary.of(4, pad=1, unknown=3, start=2, end=2), [2]) == [3]  # BART's start is its end


def test_rows_of_a_table_follow_and_a_missing_symbol_has_zeros() -> None:
    vocabulary = Vocabulary.of(4, pad=3, unknown=None, start=3, end=1)
    table = torch.arange(1.0, 9.0).reshape(4, 2)
    assert vocabulary.gather(table).tolist() == [[7, 8], [0, 0], [7, 8], [3, 4], [1, 2], [5, 6]]
    assert vocabulary.gather(table[:, 0]).tolist() == [7, 0, 7, 3, 1, 5]
    assert to_external(vocabulary, [1, 4]) == [0]


def test_rows_under_their_ids_again() -> None:
    vocabulary = Vocabulary((4, None, 0, 1, 6))
    ours = torch.arange(1.0, 11.0).reshape(5, 2)
    scattered = vocabulary.scatter(ours)
    assert vocabulary.external_size == 7
    assert scattered.tolist() == [[5, 6], [7, 8], [0, 0], [0, 0], [1, 2], [0, 0], [9, 10]]
    assert vocabulary.gather(scattered)[[0, 2, 3, 4]].equal(ours[[0, 2, 3, 4]])
