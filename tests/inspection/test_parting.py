"""Where two passes part: named is the module that first makes another thing of the same."""

import torch
from torch import Tensor, nn

from openwork.inspection.parting import (
    SOURCE,
    TARGET,
    DivergencePlace,
    Record,
    difference,
    first_endless,
    first_parting,
    watching,
)

WHOLE = {SOURCE: 9, TARGET: 9}


class Shifting(nn.Module):
    """Adds 1 at some position."""

    def __init__(self, position: int | None = None) -> None:
        super().__init__()
        self.position = position

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        if self.position is not None:
            y[:, self.position] += 1
        return y


def stack(first: int | None = None, second: int | None = None) -> nn.Sequential:
    return nn.Sequential(Shifting(first), Shifting(second))


def record(model: nn.Module, *parts: Tensor, side: str = TARGET) -> Record:
    with watching(model) as found:
        found.side = side
        for part in parts:
            model(part)
    return found


X = torch.zeros(2, 4, 3)


def test_the_first_module_that_parts_and_its_position():
    plain = record(stack(), X)
    assert first_parting(plain, record(stack(first=2), X), (0, 0), WHOLE, 1e-4) == DivergencePlace("0", TARGET, 2)
    assert first_parting(plain, record(stack(second=1), X), (0, 0), WHOLE, 1e-4) == DivergencePlace("1", TARGET, 1)
    assert first_parting(plain, record(stack(), X), (0, 0), WHOLE, 1e-4) is None


def test_a_module_is_not_blamed_for_what_it_was_given():
    """The outer module ends after the inner ones, and the second inner one only hands the first one's fault on."""
    outer = nn.Sequential(stack(first=2))
    assert first_parting(record(nn.Sequential(stack()), X), record(outer, X), (0, 0), WHOLE, 1e-4) == DivergencePlace(
        "0.0", TARGET, 2
    )


def test_positions_beyond_the_limit_and_small_differences_do_not_count():
    plain, other = record(stack(), X), record(stack(first=2), X)
    assert first_parting(plain, other, (0, 0), {SOURCE: 9, TARGET: 2}, 1e-4) is None
    assert first_parting(plain, other, (0, 0), WHOLE, 1.1) is None


def test_calls_in_parts_are_one_whole():
    whole, parts = record(stack(), X), record(stack(), X[:, :1], X[:, 1:])
    assert first_parting(whole, parts, (0, 0), WHOLE, 1e-4) is None
    shifted = record(stack(first=0), X[:, :1], X[:, 1:])
    assert first_parting(whole, shifted, (0, 0), WHOLE, 1e-4) == DivergencePlace("0", TARGET, 0)


def test_rows_may_stand_elsewhere():
    x = torch.arange(24.0).reshape(2, 4, 3)
    assert first_parting(record(stack(), x), record(stack(), x[1:]), (1, 0), WHOLE, 1e-4) is None


def test_a_cells_steps_are_positions():
    torch.manual_seed(0)
    cell = nn.Sequential(nn.LSTMCell(3, 3))
    found = record(cell, X[:, 0], X[:, 1])
    (calls,) = found.calls.values()
    assert torch.cat(calls.after, dim=1).shape == (2, 2, 3)


def test_a_module_that_serves_two_widths_has_two_places():
    one, other = nn.Sequential(Shifting()), nn.Sequential(Shifting(position=1))
    narrow = X[..., :2]
    assert first_parting(record(one, X, narrow), record(other, X, narrow), (0, 0), WHOLE, 1e-4) == DivergencePlace(
        "0", TARGET, 1
    )


def test_what_is_no_number_is_found():
    x = X.clone()
    x[1, 3] = torch.nan
    assert first_endless(record(stack(), X)) is None
    assert first_endless(record(stack(), x, side=SOURCE)) == DivergencePlace("0", SOURCE, 3)
    assert difference(torch.tensor([1.0, torch.nan, torch.inf]), torch.tensor([3.0, 0.0, torch.inf])).tolist() == [
        2.0, torch.inf, 0.0,
    ]  # fmt: skip


def test_the_model_is_as_before():
    model = stack()
    record(model, X)
    assert not any(module._forward_hooks for module in model.modules())
