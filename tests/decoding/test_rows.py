"""Folding (sentence, beam) into rows and back."""

import torch

from openwork.decoding import rows


def test_unfold_undoes_fold() -> None:
    x = torch.arange(24).view(2, 3, 4)
    assert rows.fold(x).tolist() == x.reshape(6, 4).tolist()
    assert torch.equal(rows.unfold(rows.fold(x), 3), x)


def test_selection_names_the_old_rows() -> None:
    # Three sentences with beams of 2: rows 0 1 | 2 3 | 4 5. The middle one is done.
    kept, parents = torch.tensor([0, 2]), torch.tensor([[1, 1, 0], [0, 1, 0]])
    assert rows.selection(kept, parents, 2).tolist() == [1, 1, 0, 4, 5, 4]


def test_in_place() -> None:
    assert rows.in_place(torch.tensor([0, 1, 2]), 3)
    assert not rows.in_place(torch.tensor([0, 1]), 3)
    assert not rows.in_place(torch.tensor([0, 2, 1]), 3)
