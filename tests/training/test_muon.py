"""Muon: its steps by hand, by the singular value decomposition and beside the framework's; what Adam moves instead."""

import pytest
import torch
from torch import Tensor, nn

from openwork.training.muon import MOMENTUM, orthogonal
from openwork.training.optimisers import (
    make_optimiser,
    optimiser_tensors,
    restore_optimiser,
    set_rate,
    skips_on_device,
    take_step,
)
from openwork.training.settings import TrainingSettings

MUON = TrainingSettings(optimiser="muon")
SHAPES = ((6, 6), (4, 9), (9, 4))


class Layers(nn.Module):
    """Layers of each shape, a table, and a matrix that belongs to no layer."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.layers = nn.ModuleList(nn.Linear(columns, rows) for rows, columns in (*SHAPES, *SHAPES))
            self.table = nn.Embedding(5, 4)
            self.output = nn.Parameter(torch.randn(5, 4))


def drawn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def update(model: nn.Module, optimiser: torch.optim.Optimizer, seed: int, rate: float = 0.1) -> None:
    for number, weight in enumerate(model.parameters()):
        weight.grad = drawn(*weight.shape, seed=100 * seed + number)
    set_rate(optimiser, rate)
    take_step(optimiser)


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_stay_and_singular_values_become_nearly_one(shape: tuple[int, int]) -> None:
    matrix = drawn(*shape)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    between = left.mT @ orthogonal(matrix[None])[0] @ right.mT
    values = between.diagonal()
    assert ((values > 0.68) & (values < 1.21)).all()
    torch.testing.assert_close(between, values.diag(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", [(64, 64), (32, 96), (96, 32)])
def test_products_of_bfloat16_lead_to_nearly_the_same_step(shape: tuple[int, int]) -> None:
    matrix = drawn(*shape)
    wide, narrow = orthogonal(matrix[None])[0], orthogonal(matrix[None], torch.bfloat16)[0]
    assert narrow.dtype is torch.bfloat16
    assert float(torch.cosine_similarity(wide.flatten(), narrow.float().flatten(), dim=0)) > 0.999


def test_the_step_is_of_the_precision_of_the_training() -> None:
    made = [make_optimiser(Layers(), MUON, precision=name).precision for name in ("float32", "bfloat16")]
    assert made == [torch.float32, torch.bfloat16]


def test_of_a_diagonal_matrix_by_hand() -> None:
    # 3 and 4 over their root of squares, 5; then five times s <- 3.4445 s - 4.775 s^3 + 2.0315 s^5
    values = [0.6, 0.8]
    for _ in range(5):
        values = [3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5 for s in values]
    found = orthogonal(torch.tensor([[[3.0, 0.0], [0.0, 4.0]]]))[0]
    torch.testing.assert_close(found, torch.tensor(values).diag())


def test_matrices_together_are_as_each_alone_and_zeros_stay_zeros() -> None:
    matrices = drawn(3, 4, 9)
    together = orthogonal(torch.cat([matrices, torch.zeros(1, 4, 9)]))
    for one, found in zip(matrices, together, strict=False):
        torch.testing.assert_close(found, orthogonal(one[None])[0])
    assert not together[3].any()


def test_the_first_step_by_hand() -> None:
    """The mean is 0.05 G + 0.95 (0.05 G) after the first gradient, and any multiple of G has one orthogonal matrix."""
    model, before = Layers(), Layers()
    update(model, make_optimiser(model, TrainingSettings(optimiser="muon", matrix_rate=3)), seed=1)
    # 0.1 times 3, and for 9 rows of 4 columns times the root of 9 / 4
    for number, rate in ((0, 0.3), (1, 0.3), (2, 0.45)):
        weight = model.layers[number].weight
        expected = before.layers[number].weight - rate * orthogonal(weight.grad[None])[0]
        torch.testing.assert_close(weight, expected)


def test_steps_are_those_of_the_framework() -> None:
    """Its own rounds to bfloat16, of which a number has three digits."""
    ours, theirs = Layers(), Layers()
    first = make_optimiser(ours, MUON)
    matrices = [layer.weight for layer in theirs.layers]
    second = torch.optim.Muon(matrices, weight_decay=0.0, momentum=MOMENTUM)
    for seed in (1, 2, 3):
        update(ours, first, seed)
        for weight, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            other.grad = weight.grad
        for group in second.param_groups:
            group["lr"] = 0.1 * MUON.matrix_rate
        second.step()
    for layer, other, before in zip(ours.layers, matrices, Layers().layers, strict=True):
        assert (layer.weight - other).norm() < 0.1 * (layer.weight - before.weight).norm()


def test_what_is_no_matrix_of_a_layer_is_moved_by_adam() -> None:
    ours, theirs = Layers(), Layers()
    first, second = make_optimiser(ours, MUON), make_optimiser(theirs, TrainingSettings())
    for seed in (1, 2):
        update(ours, first, seed)
        update(theirs, second, seed)
    moved_alike = {name for name, weight in ours.named_parameters() if torch.equal(weight, theirs.get_parameter(name))}
    assert moved_alike == {"table.weight", "output", *(f"layers.{number}.bias" for number in range(6))}


def test_resumed_it_goes_on_as_if_undisturbed() -> None:
    whole, stopped, resumed = Layers(), Layers(), Layers(seed=2)
    one, two, three = (make_optimiser(model, MUON) for model in (whole, stopped, resumed))
    for seed in (1, 2):
        update(whole, one, seed)
        update(stopped, two, seed)
    update(resumed, three, seed=9)
    tensors = optimiser_tensors(stopped, two)
    assert {key for key in tensors if key.startswith("layers.0.weight")} == {"layers.0.weight/momentum_buffer"}
    restore_optimiser(resumed, three, tensors)
    resumed.load_state_dict(stopped.state_dict())
    for seed in (3, 4):
        update(whole, one, seed)
        update(resumed, three, seed)
    assert all(map(torch.equal, whole.parameters(), resumed.parameters()))


def test_weights_without_gradients_stay() -> None:
    model = Layers()
    before = Layers()
    optimiser = make_optimiser(model, MUON)
    model.layers[0].weight.grad = drawn(6, 6)
    set_rate(optimiser, 0.1)
    take_step(optimiser)
    moved = [name for name, weight in model.named_parameters() if not torch.equal(weight, before.get_parameter(name))]
    assert moved == ["layers.0.weight"]


def test_it_skips_no_step_on_the_device() -> None:
    """So that passes are not captured for it: its steps of matrices would not ask whether the gradients are numbers."""
    assert not skips_on_device(make_optimiser(Layers(), MUON))
    assert skips_on_device(make_optimiser(Layers(), TrainingSettings()))
