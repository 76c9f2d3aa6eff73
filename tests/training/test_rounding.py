"""Training with rounded weights: what the passes compute with, what their gradients move, and what stays as it was."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

from distributed.scripted import Scripted
from openwork.bundles.quantised import rounded
from openwork.data.store import TokenStore
from openwork.machine.precision import PrecisionName, computing_in
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_weights
from openwork.training.computing.choice import working_copy
from openwork.training.computing.rounding import round_weights, rounded_weights
from openwork.training.computing.sharding import SharedOptimiser
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.progress import Progress
from openwork.training.step import Updater
from training.tiny import CPU, MODEL, RECURRENT, SETTINGS, VOCABULARY, make_store, make_training

WIDE = MODEL.model_copy(update={"width": 32, "feedforward_width": 64, "tying": "three-way"})
FAMILIES = pytest.mark.parametrize("family", [WIDE, RECURRENT], ids=lambda settings: settings.kind)
INT4 = partial(rounded, kind="int4")
SOURCE, LENGTHS, TARGET = torch.tensor([[5, 6, 3], [4, 3, 0]]), torch.tensor([3, 2]), torch.tensor([[2, 7], [2, 8]])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def make_model(family: ModelSettings) -> SequenceModel:
    torch.manual_seed(1)
    return build_model(family, VOCABULARY, VOCABULARY).eval()


def kept(model: SequenceModel) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in model_weights(model).items()}


@FAMILIES
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_copy_has_the_rounded_weights_and_the_model_its_own(
    family: ModelSettings, precision: PrecisionName
) -> None:
    model = make_model(family)
    before = kept(model)
    copy = WorkingCopy(model, precision, rounding=INT4)
    copy.refresh()
    changed = 0
    for (name, own), working in zip(model.named_parameters(), copy.model.parameters(), strict=True):
        assert torch.equal(own, before[name])
        assert torch.equal(working, INT4(own.detach()).to(working.dtype)), name
        changed += not torch.equal(working.float(), own)
    assert changed and copy.model is not model
    assert len(copy.own) == len(copy.working) == len(list(model.parameters()))  # shared matrices are shared in both


def test_where_processes_share_the_optimiser_each_computes_with_rounded_weights() -> None:
    model = make_model(WIDE)
    settings = SETTINGS.model_copy(update={"sharding": "optimiser"})
    copy = working_copy(model, settings, "float32", Scripted(), INT4)
    copy.refresh()
    assert isinstance(copy, SharedOptimiser) and 0 < len(copy.moved()) < len(copy.own)
    for own, working in zip(model.parameters(), copy.model.parameters(), strict=True):
        assert torch.equal(working, INT4(own.detach()))


@FAMILIES
def test_a_pass_is_that_of_the_model_with_rounded_weights(family: ModelSettings) -> None:
    """Two ways, one answer: the copy's output and gradients, and those of the model after it was rounded."""
    model, other = make_model(family), make_model(family)
    copy = WorkingCopy(model, "float32", rounding=INT4)
    copy.refresh()
    round_weights(other, INT4)
    with computing_in("float32", CPU):
        found, expected = (one(SOURCE, LENGTHS, TARGET) for one in (copy.model, other))
    assert torch.equal(found, expected)
    assert not torch.equal(found, model(SOURCE, LENGTHS, TARGET))
    copy.take([copy.gradients(found.square().sum(), [True] * len(copy.own))])
    right = torch.autograd.grad(expected.square().sum(), list(other.parameters()), allow_unused=True)
    for own, gradient in zip(copy.own, right, strict=True):
        assert (own.grad is None) == (gradient is None)
        if own.grad is not None and gradient is not None:
            torch.testing.assert_close(own.grad, gradient)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_update_moves_the_unrounded_weights_by_the_gradient_at_the_rounded_ones(
    workers: int, store: TokenStore
) -> None:
    """By hand: w <- w - rate * gradient at the rounded w, which is what an update from there would subtract."""
    settings = SETTINGS.model_copy(
        update={"optimiser": "sgd", "clip_norm": None, "schedule": "constant", "warmup": 1, "workers": workers}
    )

    def after_an_update(change: Callable[[SequenceModel], WorkingCopy]) -> dict[str, Tensor]:
        training = make_training(store, settings, WIDE)
        copy = change(training.model)
        updater = Updater(training.model, training.optimiser, training.updater.schedule, settings, "float32", copy)
        before = kept(training.model)
        updater.update([training.stream.next(Progress())], 1)
        return {name: weight - before[name] for name, weight in model_weights(training.model).items()}

    def started_rounded(model: SequenceModel) -> WorkingCopy:
        round_weights(model, INT4)
        return WorkingCopy(model, "float32")

    found = after_an_update(lambda model: WorkingCopy(model, "float32", rounding=INT4))
    expected = after_an_update(started_rounded)
    assert any(bool(step.any()) for step in found.values())
    for name, step in found.items():
        torch.testing.assert_close(step, expected[name], rtol=1e-3, atol=1e-6)


def test_steps_too_small_to_change_a_rounded_weight_are_kept(store: TokenStore) -> None:
    """The optimiser moves the unrounded weights, so that small steps add up."""
    settings = SETTINGS.model_copy(update={"learning_rate": 1e-5, "schedule": "constant"})
    training = make_training(store, settings, WIDE)
    training.updater.copy = WorkingCopy(training.model, "float32", rounding=INT4)
    before = kept(training.model)
    training.go(settings, Progress())
    after = model_weights(training.model)
    assert all(not torch.equal(after[name], before[name]) for name in before)
    same = sum(int((INT4(after[name]) == INT4(before[name])).sum()) for name in before if before[name].dim() >= 2)
    assert same > 0.5 * sum(weight.numel() for weight in before.values() if weight.dim() >= 2)


@FAMILIES
def test_rounded_for_a_while(family: ModelSettings) -> None:
    model = make_model(family)
    before = kept(model)
    with rounded_weights(model, INT4):
        for name, weight in model_weights(model).items():
            assert torch.equal(weight, INT4(before[name])), name
    with pytest.raises(KeyError), rounded_weights(model, INT4):
        raise KeyError
    with rounded_weights(model, None):
        assert all(torch.equal(weight, before[name]) for name, weight in model_weights(model).items())
    assert all(torch.equal(weight, before[name]) for name, weight in model_weights(model).items())


def test_weights_that_do_not_learn_are_rounded_too_after_they_were_loaded() -> None:
    model = make_model(WIDE)
    for weight in model.parameters():
        weight.requires_grad = weight.dim() < 2
    for precision, rounding in (("bfloat16", None), ("float32", INT4), ("bfloat16", INT4)):
        copy = WorkingCopy(model, precision, rounding=rounding)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(3)  # as a checkpoint would change them
        copy.refresh()
        for own, working in zip(model.parameters(), copy.model.parameters(), strict=True):
            expected = own.detach() if rounding is None else rounding(own.detach())
            assert torch.equal(working, expected.to(working.dtype))


def test_rows_are_rounded_alike_alone_and_together() -> None:
    """Groups are rounded some thousand at a time."""
    weight = torch.randn(700, 320, generator=torch.Generator().manual_seed(3))
    whole = INT4(weight)
    assert torch.equal(whole, torch.cat([INT4(row[None]) for row in weight[:40]] + [INT4(weight[40:])]))
