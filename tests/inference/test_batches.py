"""Batches for inference: which texts are together, and how their ids are padded."""

import torch

from openwork.inference.batches import batches, padded


def test_a_batch_is_as_large_as_its_tokens_allow() -> None:
    lengths = dict(enumerate((4, 6, 3, 4, 6, 4)))
    assert list(batches(lengths, 12)) == [[1, 4], [0, 3, 5], [2]]  # 2 of 6 tokens are 12, 3 of 4 tokens are 12
    assert list(batches({7: 9, 8: 2}, 5)) == [[7], [8]]  # a text that is longer than the budget is alone
    assert list(batches({}, 12)) == []


def test_batches_shrink_towards_the_end() -> None:
    sizes = [len(batch) for batch in batches(dict.fromkeys(range(64), 1), 12, least=2)]
    assert sizes == [12, 12, 10, 7, 5, 4, 3, 2, 2, 2, 2, 2, 1]


def test_rows_are_padded_behind_their_end_symbols() -> None:
    ids, lengths = padded([[7, 8], [], [9]], torch.device("cpu"))
    assert ids.tolist() == [[7, 8, 3], [3, 0, 0], [9, 3, 0]] and lengths.tolist() == [3, 1, 2]
