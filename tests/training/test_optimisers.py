"""Optimisers: two updates of one number by hand, what each remembers, and weights that it must not see."""

from typing import get_args

import pytest
import torch
from torch import nn

from calling import imports_compiler
from openwork.training.optimisers import OPTIMISERS, make_optimiser, optimiser_tensors, restore_optimiser, take_step
from openwork.training.settings import TrainingSettings


class Parameters(nn.Module):
    """A vector of one number, and a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.tensor([2.0]))
        self.matrix = nn.Parameter(torch.ones(2, 3))


def settings(name: str, **others: object) -> TrainingSettings:
    return TrainingSettings.model_validate({"optimiser": name, **others})


def update(model: Parameters, optimiser: torch.optim.Optimizer, gradient: float = 0.5, rate: float = 0.1) -> float:
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.grad = torch.full_like(parameter, gradient)
    for group in optimiser.param_groups:
        group["lr"] = rate
    take_step(optimiser)
    return model.number.item()


# The number is 2, each gradient 0.5, each rate 0.1.
BY_HAND = {
    # mean / root of mean square is 1 as long as all gradients are equal
    "adam": ({}, [1.9, 1.8]),
    # 2 (1 - 0.1 * 0.1) - 0.1 = 1.88; 1.88 * 0.99 - 0.1
    "adamw": ({"weight_decay": 0.1}, [1.88, 1.7612]),
    # 2 - 0.1 * 0.5; then the sum of gradients is 0.9 * 0.5 + 0.5 = 0.95
    "sgd": ({"momentum": 0.9}, [1.95, 1.855]),
    # 0.5 / sqrt(0.25) = 1; 0.5 / sqrt(0.5) = 0.70711
    "adagrad": ({}, [1.9, 1.829289]),
    # The step is the rate times the weight's size, in the direction of 0.5 / sqrt(0.25): 2 - 0.2; 1.8 - 0.18
    "adafactor": ({}, [1.8, 1.62]),
    # Adam's, for no weight here is a linear layer's (test_muon.py has those)
    "muon": ({}, [1.9, 1.8]),
}
REMEMBERED = {
    "adam": {"step", "exp_avg", "exp_avg_sq"},
    "adamw": {"step", "exp_avg", "exp_avg_sq"},
    "sgd": {"momentum_buffer"},
    "adagrad": {"step", "sum"},
    "adafactor": {"step", "row_var", "col_var"},
    "muon": {"step", "exp_avg", "exp_avg_sq"},
}


def test_the_tables_and_the_settings_name_the_same_optimisers() -> None:
    names = set(get_args(TrainingSettings.model_fields["optimiser"].annotation))
    assert set(OPTIMISERS) == names == set(BY_HAND) == set(REMEMBERED)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_two_updates_by_hand(name: str) -> None:
    others, expected = BY_HAND[name]
    model = Parameters()
    optimiser = make_optimiser(model, settings(name, **others))
    assert [update(model, optimiser) for _ in range(2)] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_what_it_remembers_goes_out_and_back(name: str) -> None:
    first, second = Parameters(), Parameters()
    one, two = make_optimiser(first, settings(name)), make_optimiser(second, settings(name))
    for gradient in (0.5, -1.0, 0.25):
        update(first, one, gradient)
    update(second, two, 9.0)
    tensors = optimiser_tensors(first, one)
    assert {key.removeprefix("matrix/") for key in tensors if key.startswith("matrix/")} == REMEMBERED[name]
    restore_optimiser(second, two, tensors)
    second.load_state_dict(first.state_dict())
    for gradient in (0.5, -2.0):
        update(first, one, gradient)
        update(second, two, gradient)
    assert torch.equal(first.number, second.number) and torch.equal(first.matrix, second.matrix)


def test_adafactor_keeps_a_row_and_a_column() -> None:
    model = Parameters()
    optimiser = make_optimiser(model, settings("adafactor"))
    update(model, optimiser)
    state = optimiser_tensors(model, optimiser)
    assert state["matrix/row_var"].shape == (2, 1) and state["matrix/col_var"].shape == (1, 3)


def test_no_momentum_remembers_nothing() -> None:
    model = Parameters()
    optimiser = make_optimiser(model, settings("sgd", momentum=0.0))
    assert [update(model, optimiser) for _ in range(2)] == pytest.approx([1.95, 1.9])
    assert optimiser_tensors(model, optimiser) == {}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_frozen_weights_stay_and_are_not_remembered(name: str) -> None:
    model = Parameters()
    model.matrix.requires_grad_(False)
    others, _ = BY_HAND[name]
    optimiser = make_optimiser(model, settings(name, **others))
    update(model, optimiser)
    assert torch.equal(model.matrix, torch.ones(2, 3))
    assert all(key.startswith("number/") for key in optimiser_tensors(model, optimiser))


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_step_is_the_frameworks(name: str) -> None:
    one, other = Parameters(), Parameters()
    first, second = (make_optimiser(model, settings(name)) for model in (one, other))
    for gradient in (0.5, -0.25, 3.0):
        update(one, first, gradient)
        for parameter in other.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        for group in second.param_groups:
            group["lr"] = 0.1
        second.step()
        assert all(map(torch.equal, one.parameters(), other.parameters()))
        moments, theirs = optimiser_tensors(one, first), optimiser_tensors(other, second)
        assert moments.keys() == theirs.keys() and all(torch.equal(moments[key], theirs[key]) for key in theirs)


@pytest.mark.slow
def test_the_compiler_is_not_imported_for_them() -> None:
    assert imports_compiler("import torch._dynamo")
    assert not imports_compiler(
        "import torch; from torch import nn\n"
        "from openwork.training.optimisers import OPTIMISERS, make_optimiser, take_step\n"
        "from openwork.training.settings import TrainingSettings\n"
        "model = nn.Linear(2, 2)\n"
        "for name in OPTIMISERS:\n"
        "    optimiser = make_optimiser(model, TrainingSettings(optimiser=name))\n"
        "    for weight in model.parameters(): weight.grad = torch.ones_like(weight)\n"
        "    take_step(optimiser)"
    )
