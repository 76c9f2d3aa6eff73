"""What a run would take: the paper's own arithmetic, its recipes, and what each option adds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from journeys.command import Finished, told
from openwork.base.config import read_run_file
from openwork.cost.communication import BUCKET, INSIDE, Network
from openwork.cost.cost import Machine
from openwork.cost.sharding import Sharding, gathered_bytes
from openwork.models.presets import TRAININGS
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.plan import KEPT, P100, Plan, capacity, make_plan, plan_lines, plan_values
from openwork.training.settings import TrainingSettings

Call = Callable[..., Finished]
RECIPES = Path(__file__).resolve().parents[2] / "recipes"
EIGHT = Machine(P100, devices=8)


def recipe(name: str) -> RunSettings:
    return resolve_run(read_run_file(RECIPES / f"{name}.toml"))


def plan(**training: object) -> Plan:
    settings = recipe("paper-base-wmt14-en-de")
    changed = settings.training.model_copy(update=training)
    return make_plan(settings.model_copy(update={"training": changed}), EIGHT)


def test_the_papers_trainings_were_on_the_papers_machine() -> None:
    assert {training.flops_per_second for training in TRAININGS.values()} == {P100}


def test_the_papers_arithmetic():
    """Table 2: 12 hours and 3.5 days on eight P100 are 3.3e18 and 2.3e19 operations."""
    assert f"{capacity(EIGHT, 12):.1e}" == "3.3e+18"
    assert f"{capacity(EIGHT, 3.5 * 24):.1e}" == "2.3e+19"


@pytest.mark.parametrize(
    ("name", "steps", "average", "dropout", "vocabulary", "millions"),
    [
        ("paper-base-wmt14-en-de", 100_000, 5, 0.1, 37_000, 63),
        ("paper-big-wmt14-en-de", 300_000, 20, 0.3, 37_000, 214),
        ("paper-base-wmt14-en-fr", 100_000, 5, 0.1, 32_000, 60),
        ("paper-big-wmt14-en-fr", 300_000, 20, 0.1, 32_000, 209),
    ],
)
def test_the_papers_recipes_say_what_the_paper_says(
    name: str, steps: int, average: int, dropout: float, vocabulary: int, millions: int
):
    settings = recipe(name)
    training, decoding = settings.training, settings.decoding
    assert (training.steps, training.average, settings.model.dropout) == (steps, average, dropout)
    assert (training.schedule, training.schedule_scale, training.warmup, training.cooldown) == ("paper", 1.0, 4000, 0)
    assert (training.optimiser, training.beta1, training.beta2, training.epsilon) == ("adam", 0.9, 0.98, 1e-9)
    assert (training.label_smoothing, training.clip_norm, training.accumulate) == (0.1, 0.0, 1)
    assert (training.ema, training.r_drop, training.precision) == (0.0, 0.0, "float32")
    assert training.patience * training.validate_every >= training.steps
    assert settings.batches.tokens == 25_000 and settings.text.shared
    assert settings.text.vocabulary_size == vocabulary
    assert settings.text.kind == ("wordpiece" if name.endswith("fr") else "byte-pair")  # section 5.1
    assert (decoding.beam, decoding.length_penalty, decoding.extra_length) == (4, 0.6, 50)
    assert make_plan(settings, EIGHT).cost.weights // 10**6 == millions
    assert "No result is claimed" in (RECIPES / f"{name}.toml").read_text().split("[", 1)[0].replace("\n# ", " ")


def test_time_and_money_by_hand():
    """Twice the operations take twice the time; two devices half of it, for the same money."""
    base = plan()
    assert base.target_tokens == 100_000 * 25_000
    assert base.bill.flops == pytest.approx(base.cost.training_flops * 2.5e9)
    assert base.bill.seconds == pytest.approx(base.bill.flops / (8 * 9.5e12))
    settings = base.settings
    one, two = (make_plan(settings, Machine(1e12, devices, 3.0)).bill for devices in (1, 2))
    assert one.seconds == pytest.approx(2 * two.seconds)
    assert one.money == pytest.approx(two.money) == pytest.approx(one.seconds / 3600 * 3.0)


def test_what_options_cost():
    base = plan()
    weights = 4 * base.cost.weights
    assert base.memory.moments == 2 * weights
    assert plan(ema=0.999).memory.moments == 3 * weights
    assert plan(optimiser="sgd").memory.moments == plan(optimiser="adagrad").memory.moments == weights
    assert plan(optimiser="adafactor").memory.moments == 0
    twice = plan(r_drop=1.0)
    assert twice.bill.flops == 2 * base.bill.flops and twice.memory.activations == 2 * base.memory.activations
    assert plan(accumulate=2).bill.flops == 2 * base.bill.flops
    assert set(KEPT) == set(get_args(TrainingSettings.model_fields["optimiser"].annotation))


FAST = Network(bandwidth=1e11)


def shared(sharding: Sharding, devices: int = 8, network: Network | None = FAST) -> Plan:
    return make_plan(recipe("paper-base-wmt14-en-de"), Machine(1e12, devices), network, sharding)


def test_the_time_of_an_update_on_several_devices_by_hand():
    """A thousand sentences of 25 tokens, 125 each; gradients of 63,045,632 weights in ten buckets, in a ring of 8."""
    plan = shared("none")
    assert plan.cost.weights == 63_045_632 and plan.sentences == 1000
    size = 4 * 63_045_632
    assert -(-size // BUCKET) == 10
    ring = 10 * 14 * INSIDE + 2 * 7 / 8 * size / 1e11
    assert plan.update.communication == pytest.approx(ring) and plan.sent == pytest.approx(2 * 7 / 8 * size)
    assert plan.update.computing == pytest.approx(plan.cost.training_flops * 25_000 / 8e12)
    assert plan.bill.seconds == pytest.approx(100_000 * (plan.update.computing + ring))
    assert plan.bill.money == 0 and make_plan(plan.settings, Machine(1e12, 8, 3.0), FAST).bill.money == pytest.approx(
        plan.bill.seconds / 3600 * 8 * 3
    )


def test_a_batch_that_does_not_come_out_even():
    """A thousand sentences on 64 devices: 15.6 each, and 16 on the fullest; on 1,024 one, and some have none."""
    even, uneven, few = (shared("none", devices, None) for devices in (8, 64, 1024))
    assert uneven.update.imbalance == pytest.approx(16 / 15.625) and few.update.imbalance == 1.024
    assert uneven.update.computing == pytest.approx(even.update.computing / 125 * 16)
    assert few.update.computing == pytest.approx(even.update.computing / 125)
    assert uneven.memory.activations == pytest.approx(even.memory.activations / 125 * 16, rel=1e-6)


def test_what_sharding_saves_and_costs():
    plans = {name: shared(name) for name in ("none", "optimiser", "full")}
    none, optimiser, full = (plans[name].memory for name in plans)
    assert optimiser.moments == 8 * 37_000 * 512 and optimiser.weights == none.weights  # more than an eighth
    assert full.weights == none.weights * 9 / 8
    assert (full.gradients, full.moments) == (none.gradients / 8, none.moments / 8)
    gathered = gathered_bytes(plans["full"].cost, plans["full"].settings.model)
    assert full.passing == none.passing + gathered and full.activations == none.activations
    assert plans["full"].sent == pytest.approx(1.5 * plans["none"].sent)
    assert plans["full"].update.total > plans["none"].update.total


def test_accumulated_batches_are_sent_once_and_gathered_each_time():
    settings = recipe("paper-base-wmt14-en-de")
    thrice = settings.model_copy(update={"training": settings.training.model_copy(update={"accumulate": 3})})
    for name, times in (("none", 1), ("full", 3)):
        one, three = (make_plan(run, Machine(1e12, 8), FAST, name).sent for run in (settings, thrice))
        assert three == pytest.approx(times * one)


def test_what_is_said_of_several_devices():
    text = "\n".join(plan_lines(shared("full", 64)))
    for words in ("each computes 15.6 of the 1,000", "(sharding: full)", "each device sends 745 MB", "100 GB a second"):
        assert words in text
    assert "in no time: to count it, give --bandwidth" in "\n".join(plan_lines(shared("none", 64, None)))
    assert "set batches.tokens to 25,600 or more" in "\n".join(plan_lines(shared("none", 1024)))
    assert "devices: " not in "\n".join(plan_lines(make_plan(recipe("paper-base-wmt14-en-de"), Machine(1e12))))
    values = plan_values(shared("full", 64))
    assert values["update"]["exposed"] + values["update"]["computing"] == values["seconds_an_update"]
    assert values["network"]["bandwidth"] == 1e11 and values["sharding"] == "full"


def test_what_is_said():
    text = "\n".join(plan_lines(plan(), 12))
    for words in ("paper-base, 63,", "2,500,000,000 target tokens", "on 8 device(s)", "3.3e+18 operations"):
        assert words in text
    assert "money" not in text
    priced = make_plan(recipe("paper-base-wmt14-en-de"), Machine(P100, 8, 1.5))
    assert f"money: {priced.bill.money:,.2f} at 1.5 an hour" in "\n".join(plan_lines(priced))
    assert plan_values(priced)["money"] == priced.bill.money


@pytest.mark.slow
def test_the_command(call: Call, tmp_path: Path):
    path = RECIPES / "paper-base-wmt14-en-de.toml"
    lines = call("train", path, "--plan", "--price", 2, "--hours", 12)
    assert lines.code == 0 and b"money: " in lines.out and b"capacity: 12 hours" in lines.out
    found = json.loads(call("train", path, "--plan", "--json", "--devices", 1, "--rate", 1e12).out)
    assert found["machine"] == {"flops_per_second": 1e12, "devices": 1, "price_per_hour": 0.0}
    assert found["seconds"] == pytest.approx(found["flops"] / 1e12)
    assert found["bytes"]["total"] == sum(size for name, size in found["bytes"].items() if name != "total")
    # without a word about devices the plan is for this machine, and with their number for the paper's P100s
    here = json.loads(call("train", path, "--plan", "--json").out)["machine"]
    assert here["devices"] == 1 and 1e8 < here["flops_per_second"] != P100
    eight = json.loads(call("train", path, "--plan", "--json", "--devices", 8).out)["machine"]
    assert eight == {"flops_per_second": P100, "devices": 8, "price_per_hour": 0.0}
    # settings that are chosen from the data have a plan as well, and nothing is trained
    chosen = call("train", "--corpus", "copy", "--plan")
    assert (chosen.code == 0 and b"model: nano" in chosen.out) or b"model: " in chosen.out
    told(call("train", path, "--json", "--out", tmp_path / "o"), 2, "--json is the form of a plan")
    told(call("train", path), 2, "--out is missing")
    told(call("train", path, "--plan", "--devices", 0), 2, "--devices")
    many = ("train", path, "--plan", "--json", "--devices", 16, "--bandwidth", 1e11, "--overlap", 1)
    hidden = json.loads(call(*many).out)
    assert hidden["update"]["exposed"] == 0 < hidden["update"]["communication"]
    told(call("train", path, "--plan", "--bandwidth", 1e11), 2, "--bandwidth is between devices")
    told(call("train", path, "--plan", "--devices", 8, "--overlap", 0.5), 2, "--overlap hides communication")
    assert not (tmp_path / "o").exists()
