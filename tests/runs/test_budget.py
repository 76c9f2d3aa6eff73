"""openwork info --compare: several kinds of model, each as large as one budget allows."""

import json
from typing import Any

import pytest
import torch

from calling import Call
from openwork.base.errors import UsageError
from openwork.cost import budget
from openwork.cost.budget import Budget, compare_sizes, scaled, size, starting_point
from openwork.cost.cost import cost_of
from openwork.models.build import build_model
from openwork.models.families import ModelSettings, model_settings
from openwork.models.interfaces import count_weights
from openwork.models.settings import TransformerSettings


@pytest.mark.parametrize(
    ("text", "amount", "kind"),
    [
        ("7M", 7e6, "weights"), ("500000", 5e5, "weights"), (" 1.5b ", 1.5e9, "weights"),
        ("20Mflop", 2e7, "operations"), ("3 GFLOPs", 3e9, "operations"), ("0.5s", 0.5, "seconds"),
        (".25S", 0.25, "seconds"),
    ],
)  # fmt: skip
def test_budgets_are_read(text: str, amount: float, kind: str) -> None:
    assert Budget.parse(text) == Budget(amount, kind)


@pytest.mark.parametrize("text", ["", "much", "0M", "-3M", "7Q", "3Ms", "7M flop s", "1e6"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not understood"):
        Budget.parse(text)


def values(call: Call, *words: str) -> list[dict[str, Any]]:
    return json.loads(call("info", "--compare", *words, "--json").out)["models"]


@pytest.mark.slow
def test_each_comes_close_to_the_weights_and_not_above(call: Call) -> None:
    found = values(call, "recurrent", "nano", "--budget", "2M", "--vocabulary", "1000")
    assert [one["name"] for one in found] == ["recurrent", "nano"]
    for one in found:
        with torch.device("meta"):
            model = build_model(model_settings(one["model"]), 1000, 1000)
        assert one["weights"] == count_weights(model) <= 2e6
        assert one["weights"] > (0.98 if one["model"]["kind"] == "recurrent" else 0.998) * 2e6


@pytest.mark.slow
def test_each_comes_close_to_the_operations_and_not_above(call: Call) -> None:
    found = values(call, "recurrent", "nano", "--budget", "5Mflop", "--vocabulary", "1000")
    for one in found:
        flops = cost_of(model_settings(one["model"]), 1000).forward_flops
        assert one["forward_flops_per_target_token"] == flops <= 5e6 and flops > 0.97 * 5e6


def test_seconds_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that goes by the width: the search comes to the widest that is fast enough."""
    asked: list[int] = []

    def clock(settings: ModelSettings, vocabulary: int) -> float:
        asked.append(settings.width)
        return settings.width / 100

    monkeypatch.setattr(budget, "seconds_an_update", clock)
    [found] = compare_sizes(["nano"], Budget(1.0, "seconds"), 100)
    assert found.settings.width == 96 and found.seconds == 0.96 and len(asked) < 12


@pytest.mark.slow
def test_an_update_takes_time() -> None:
    small = TransformerSettings(width=8, heads=2, feedforward_width=8, encoder_layers=1, decoder_layers=1)
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    assert budget.seconds_an_update(small, 50) > 0
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_largest_that_fits() -> None:
    """Against every width one by one; the price is the width itself, or that of the feed-forward network."""
    for most in (8, 9, 100, 257):
        found = size("nano", lambda settings: settings.width, most, stretch=False)
        assert found.width == most - most % 8
    found = size("nano", lambda settings: settings.width + settings.model_dump()["feedforward_width"] / 2, 200)
    assert found.width == 96 and found.model_dump()["feedforward_width"] == 208  # nano's is twice the width


def test_all_widths_grow_alike() -> None:
    start = model_settings({"width": 64, "heads": 4, "feedforward_width": 96, "embedding_width": 32, "head_width": 10})
    assert scaled(start, 128).model_dump(exclude_none=True) == {
        **start.model_dump(exclude_none=True), "width": 128, "feedforward_width": 192, "embedding_width": 64,
        "head_width": 20,
    }  # fmt: skip


def test_names() -> None:
    assert starting_point("recurrent") == model_settings({"kind": "recurrent", "width": 256})  # recurrent-small
    assert starting_point("transformer") == TransformerSettings()
    with pytest.raises(UsageError, match="neither a preset nor a kind") as refused:
        starting_point("transfromer")
    assert "transformer" in refused.value.hint


@pytest.mark.slow
def test_told_to_a_person(call: Call) -> None:
    told = call("info", "--compare", "recurrent", "nano", "--budget", "1M", "--vocabulary", "500").out.decode()
    assert "sized to 1,000,000 weights" in told and "500 pieces" in told and "kind = recurrent, width = " in told
    chinese = call(
        "info", "--compare", "nano", "--budget", "1Mflop", "--vocabulary", "500", "--lang", "zh"
    ).out.decode()
    assert "次前向运算" in chinese and "kind = transformer" in chinese


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nano", "--budget", "7M"], "go together"),
        (["--compare", "nano"], "go together"),
        (["--compare", "--budget", "7M"], "go together"),
        (["nano", "--vocabulary", "100"], "go together"),
        (["nano", "tiny"], "several things at once"),
        (["--compare", "nano", "--budget", "7Q"], "not understood"),
        (["--compare", "nano", "--budget", "5k"], "no model of this kind is so small"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Call, words: list[str], sentence: str) -> None:
    refused = call("info", *words)
    assert refused.code == 2 and sentence in refused.err


@pytest.mark.parametrize("name", ["vit-small", "cnn", "captioner", "whisper-small"])
def test_models_of_numbers_are_not_sized_without_their_sources(name: str) -> None:
    with pytest.raises(UsageError, match=name) as refused:
        compare_sizes([name], Budget.parse("1M"), 100)
    assert refused.value.code == "U131"
