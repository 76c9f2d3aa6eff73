"""Groups of layers: whose weights they are, at which rates they learn and from which update, and going on amid that."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from pydantic import ValidationError

from openwork.base.errors import ConfigError
from openwork.data.store import TokenStore
from openwork.models.weights import model_weights
from openwork.training.checkpoint import resume_latest
from openwork.training.optimisers import make_optimiser, optimiser_tensors, set_rate
from openwork.training.progress import Progress
from openwork.training.settings import TrainingSettings
from openwork.training.trained_weights import first_updates, group_layers
from training.tiny import SETTINGS, make_store, make_training, save_checkpoint

GROUPS = ("decoder", "encoder.layers.0.feedforward encoder.layers.*.self_attention.*")
GRADUAL = SETTINGS.model_copy(update={"layer_groups": GROUPS, "unfreeze_every": 3, "optimiser": "adamw"})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def test_a_shared_matrix_goes_by_any_of_its_names() -> None:
    parts = torch.nn.ModuleDict({"embedding": torch.nn.Linear(2, 2, bias=False), "output": torch.nn.Linear(2, 2)})
    parts["output"].weight = parts["embedding"].weight
    assert group_layers(parts, ("output.weight",)) == [[parts["embedding"].weight], [parts["output"].bias]]


def test_every_weight_is_in_one_group(store: TokenStore) -> None:
    model = make_training(store).model
    model.get_parameter("decoder.layers.0.feedforward.expand.bias").requires_grad_(False)
    names = {id(weight): name for name, weight in model.named_parameters()}
    found = [{names[id(weight)] for weight in group} for group in group_layers(model, GROUPS)]
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert set().union(*found) == learning and sum(map(len, found)) == len(learning)
    assert found[0] == {name for name in learning if name.startswith("decoder.")}
    assert all(name.startswith("encoder.layers.0.") for name in found[1]) and found[1]
    assert group_layers(model, ()) == [[weight for weight in model.parameters() if weight.requires_grad]]


def test_a_group_of_nothing_is_refused(store: TokenStore) -> None:
    with pytest.raises(ConfigError, match="'head' names no weight") as refused:
        group_layers(make_training(store).model, ("decoder head",))
    assert "decoder" in refused.value.hint


def test_the_rates_by_hand(store: TokenStore) -> None:
    """2.6 and 2.6^2 = 6.76 times less than the first group's."""
    training = make_training(store)
    settings = SETTINGS.model_copy(update={"layer_groups": GROUPS, "layer_decay": 2.6})
    optimiser = make_optimiser(training.model, settings)
    set_rate(optimiser, 0.676)
    assert [group["lr"] for group in optimiser.param_groups] == pytest.approx([0.676, 0.26, 0.1])


def test_nobody_waits_for_what_is_frozen(store: TokenStore) -> None:
    model = make_training(store).model
    model.get_submodule("decoder").requires_grad_(False)
    begins = first_updates(model, GRADUAL)
    first, second = group_layers(model, GROUPS)[1:]
    assert [begins.get(id(weights[0]), 1) for weights in (first, second)] == [1, 4]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"precision": "bfloat16"}, {"optimiser": "sgd"}, {"workers": 2}], ids=str)
def test_a_group_stays_bit_for_bit_until_it_learns(store: TokenStore, changes: dict[str, object]) -> None:
    """Weight decay and moments act on none that does not learn yet."""
    settings = GRADUAL.model_copy(update={"weight_decay": 0.1, **changes})
    training, place = make_training(store, settings), Progress()
    groups = group_layers(training.model, GROUPS)
    for steps, learning in ((3, 1), (6, 2), (12, 3)):
        before = [[weight.detach().clone() for weight in group] for group in groups]
        training.go(settings.model_copy(update={"steps": steps}), place)
        for number, (then, now) in enumerate(zip(before, groups, strict=True)):
            moved = [not torch.equal(a, b) for a, b in zip(then, now, strict=True)]
            assert all(moved) if number < learning else not any(moved), (steps, number)


@pytest.mark.slow
def test_a_run_goes_on_in_the_middle_of_unfreezing(store: TokenStore, tmp_path: Path) -> None:
    settings = GRADUAL.model_copy(update={"layer_decay": 2.6})
    whole, half, place = make_training(store, settings), make_training(store, settings), Progress()
    whole.go(settings, Progress())
    half.go(settings.model_copy(update={"steps": 5}), place)
    save_checkpoint(tmp_path, half.model, half.optimiser, place)
    again = replace(make_training(store, settings), stream=whole.stream)
    resumed = resume_latest(tmp_path, again.model, again.optimiser)
    assert resumed is not None and resumed.progress.step == 5
    again.go(settings, resumed.progress)
    for find in (lambda one: model_weights(one.model), lambda one: optimiser_tensors(one.model, one.optimiser)):
        first, second = find(whole), find(again)
        assert first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unfreeze_every": 3}, "layer_groups names none"),
        ({"layer_decay": 2.6}, "layer_groups names none"),
        ({"layer_groups": ("decoder", " ")}, "a group of layer_groups is empty"),
        ({"layer_groups": GROUPS, "unfreeze_every": 6}, "begin to learn at update 13, and the run has 12"),
    ],
)
def test_settings_that_mean_nothing_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        TrainingSettings.model_validate({"steps": 12, **changes})
