"""`openwork coach`: healthy runs pass; each fault planted as a person would make it is named, by its own line."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from journeys.command import Finished
from openwork.base.config import Layer
from openwork.checks.check import CheckResult, Status
from openwork.data import batching
from openwork.runs.coach.checks import LESSONS, coach, coach_lines, coach_trial, coach_values
from openwork.runs.coach.trial import smoothing_floor, trial_of
from openwork.runs.file.resolve import resolve_layer
from openwork.runs.file.settings import RunSettings
from openwork.text.pieces.learnt import LearntTokenizer
from openwork.training.loss import smoothed_cross_entropy
from openwork.training.step import Updater

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
Patch = pytest.MonkeyPatch
TRANSFORMER = {
    "kind": "transformer", "width": 32, "heads": 2, "feedforward_width": 64, "encoder_layers": 1, "decoder_layers": 1,
    "norm": "pre", "dropout": 0.3,
}  # fmt: skip
RECURRENT = {"kind": "recurrent", "width": 32, "encoder_layers": 1, "decoder_layers": 1}
MULTI30K = {"corpus": "multi30k-en-de"}


def settings_of(data: dict[str, Any] | None = None, **sections: dict[str, Any]) -> RunSettings:
    given = {"data": data or {"corpus": "reverse", "count": 200}, "model": TRANSFORMER, **sections}
    return resolve_layer(
        Layer({"text": {"vocabulary_size": 300}, **given}), lambda line: None, choose_rest=False
    ).settings


def carried_out(settings: RunSettings | None = None) -> list[CheckResult]:
    return coach(settings or settings_of(), lambda line: None)


def failed(outcomes: list[CheckResult]) -> set[str]:
    return {outcome.name for outcome in outcomes if outcome.status is Status.FAILED}


QUICK, LONG = ("pre",), ("post, untied", "smoothed otherwise", "characters, apart")  # the others have most of them
HEALTHY: dict[str, Any] = {
    "pre": {},
    "post, untied": {"model": {**TRANSFORMER, "norm": "post", "tying": "none", "positions": "rotary"}},
    "smoothed otherwise": {"training": {"label_smoothing": 0.2, "smoothing_form": "others"}},
    "recurrent": {"model": RECURRENT},
    "words": {"text": {"kind": "words"}},
    "characters, apart": {"text": {"kind": "characters", "shared": False}, "model": {**TRANSFORMER, "tying": "target"}},
}


@pytest.mark.parametrize(
    "sections",
    [
        pytest.param(one, id=name, marks=[pytest.mark.slow] * (name not in QUICK) + [pytest.mark.long] * (name in LONG))
        for name, one in HEALTHY.items()
    ],
)
def test_a_healthy_run_passes(sections: dict[str, Any]) -> None:
    outcomes = carried_out(settings_of(**sections))
    assert failed(outcomes) == set(), "\n".join(coach_lines(outcomes))
    assert {one.name for one in outcomes if one.status is Status.SKIPPED} <= {"sides", "pieces"}


@pytest.mark.slow
def test_a_real_corpus_passes(openwork_data: Callable[[str], Path]) -> None:
    openwork_data("multi30k")
    small = {"data": MULTI30K, "text": {"vocabulary_size": 2000}, "model": {**TRANSFORMER, "width": 64}}
    outcomes = carried_out(settings_of(**small))
    assert failed(outcomes) == set(), "\n".join(coach_lines(outcomes))


def no_time(patch: Patch) -> None:
    """A single update, so that what needs more is left out."""
    patch.setattr("openwork.runs.coach.trial.SECONDS", 0.0)
    patch.setattr("openwork.runs.coach.learning.SECONDS", 0.0)


def dead_padding(patch: Patch) -> None:
    patch.setattr("openwork.nn.masks.padding", lambda lengths, size: torch.ones(len(lengths), 1, 1, size).bool())


def hidden_source(patch: Patch) -> None:
    patch.setattr("openwork.nn.masks.padding", lambda lengths, size: torch.zeros(len(lengths), 1, 1, size).bool())


def dead_causal(patch: Patch) -> None:
    # over all the keys there are, whether the kernel asks for booleans or trusts the description
    patch.setattr("openwork.nn.masks.causal", lambda queries, keys, device=None: torch.ones(1, 1, queries, keys).bool())
    patch.setattr("openwork.nn.masks.Mask.is_only_causal", False)


def other_batches(patch: Patch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    sound = batching.Batch
    patch.setattr(batching, "Batch", lambda **parts: sound(**{**parts, **change(parts)}))


def answer_seen(patch: Patch) -> None:
    """Targets that nobody shifted."""
    other_batches(patch, lambda parts: {"target_input": parts["target_output"]})


def one_ahead(patch: Patch) -> None:
    """Targets shifted by two."""

    def change(parts: dict[str, Any]) -> dict[str, Any]:
        late = parts["target_input"].copy()
        late[:, 1:] = parts["target_input"][:, :-1]
        return {"target_input": late}

    other_batches(patch, change)


def asked_for_the_next(patch: Patch) -> None:
    def change(parts: dict[str, Any]) -> dict[str, Any]:
        output = parts["target_output"].copy()
        output[:, :-1] = parts["target_output"][:, 1:]
        return {"target_output": output}

    other_batches(patch, change)


def spaces_lost(patch: Patch) -> None:
    sound = LearntTokenizer.decode
    patch.setattr(LearntTokenizer, "decode", lambda self, ids: sound(self, ids).replace(" ", ""))


def all_unknown(patch: Patch) -> None:
    sound = LearntTokenizer.encode_batch
    patch.setattr(LearntTokenizer, "encode_batch", lambda self, texts: [[1 for _ in ids] for ids in sound(self, texts)])


def large_weights(patch: Patch) -> None:
    def initialise(model: torch.nn.Module) -> torch.nn.Module:
        for weight in model.parameters():
            torch.nn.init.normal_(weight)
        return model

    patch.setattr("openwork.models.build.initialise", initialise)


def no_update(patch: Patch) -> None:
    patch.setattr(Updater, "_take_step", lambda self, scale: 0.0)


# The fault, the line that must name it, and other lines that it makes fail as well.
PLANTED: tuple[tuple[Callable[[Patch], None], str, set[str]], ...] = (
    (dead_padding, "padding", set()),
    (hidden_source, "source", {"overfit"}),
    (dead_causal, "future", set()),
    (answer_seen, "frame", {"shift"}),
    (one_ahead, "shift", set()),
    (asked_for_the_next, "frame", {"padding"}),
    (spaces_lost, "round-trip", set()),
    (all_unknown, "unknown", set()),
    (large_weights, "initial-loss", {"overfit", "source"}),
    (no_update, "overfit", set()),
)


@pytest.mark.parametrize(("plant", "name", "others"), PLANTED, ids=[plant.__name__ for plant, *_ in PLANTED])
def test_a_planted_fault_is_named(
    monkeypatch: Patch, plant: Callable[[Patch], None], name: str, others: set[str]
) -> None:
    plant(monkeypatch)
    if "overfit" in (name, *others):
        monkeypatch.setattr("openwork.runs.coach.trial.UPDATES", 60)
    else:
        no_time(monkeypatch)
    outcomes = carried_out()
    assert name in failed(outcomes) <= {name} | others, "\n".join(coach_lines(outcomes))


def test_one_file_named_twice_is_seen(tmp_path: Path) -> None:
    words = ["a cat sat here", "the dog ran off", "two birds sing", "no one came", "it rains again", "come in now"]
    file = tmp_path / "text.en"
    file.write_text("".join(f"{one} {other}\n" for one in words for other in words))
    outcomes = carried_out(settings_of({"source": str(file), "target": str(file)}))
    assert failed(outcomes) == {"sides"}


def test_characters_in_bytes_are_seen_with_what_to_type(monkeypatch: Patch, tmp_path: Path) -> None:
    no_time(monkeypatch)
    draw = random.Random(1)
    for side in ("zh", "en"):
        lines = (
            "".join(chr(0x4E00 + draw.randrange(400)) for _ in range(9)) if side == "zh" else "a b" for _ in range(400)
        )
        (tmp_path / f"text.{side}").write_text("\n".join(lines) + "\n")
    data = {"source": str(tmp_path / "text.zh"), "target": str(tmp_path / "text.en")}
    outcomes = carried_out(settings_of(data))
    assert "unknown" in failed(outcomes)
    told = "\n".join(coach_lines(outcomes))
    assert "bytes of characters" in told and "--set text.vocabulary_size=" in told


def test_what_is_not_learnt_in_time_is_no_failure(monkeypatch: Patch) -> None:
    no_time(monkeypatch)
    outcomes = {one.name: one for one in carried_out()}
    assert outcomes["overfit"].status is outcomes["free"].status is Status.SKIPPED
    assert "too few to tell" in outcomes["overfit"].reason


@pytest.mark.parametrize(("smoothing", "form"), [(0.0, "vocabulary"), (0.1, "vocabulary"), (0.3, "others")])
def test_no_model_is_below_the_floor(smoothing: float, form: Any) -> None:
    size, right = 7, torch.tensor([3])
    share = smoothing * (size / (size - 1) if form == "others" else 1)
    ideal = torch.full((1, size), share / size)
    ideal[0, 3] += 1 - share
    floor = smoothing_floor(smoothing, form, size)
    logits = ideal.clamp_min(1e-30).log()
    assert smoothed_cross_entropy(logits, right, smoothing, form).smoothed.item() == pytest.approx(floor, abs=1e-5)
    assert smoothed_cross_entropy(1.1 * logits, right, smoothing, form).smoothed.item() >= floor - 1e-6
    assert smoothing_floor(0.5, "vocabulary", 2) == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))


def test_sources_that_are_alike_are_not_learnt_by_heart() -> None:
    with trial_of(settings_of({"corpus": "reverse", "count": 200}), lambda line: None) as trial:
        again = replace(trial, store=trial.stored((trial.store.pair(row // 3) for row in range(60)), "again"))
        assert again.rows == [0, 3, 6, 9, 12, 15, 18, 21]
        same = replace(trial, store=trial.stored((trial.store.pair(0) for _ in range(9)), "same"))
        outcomes = {one.name: one for one in coach_trial(same)}
    assert outcomes["overfit"].status is Status.FAILED and "two pairs" in outcomes["overfit"].reason


def test_the_command(call: Call, monkeypatch: Patch, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    model = "".join(f"{key} = {json.dumps(value)}\n" for key, value in TRANSFORMER.items())
    file.write_text(f'[data]\ncorpus = "reverse"\ncount = 200\n[text]\nvocabulary_size = 300\n[model]\n{model}')
    good = call("coach", file)
    assert good.code == 0, good.err
    assert good.out.decode().splitlines()[-1] == "nothing found that would keep this run from learning"
    spaces_lost(monkeypatch)
    no_time(monkeypatch)
    bad = call("coach", file, "--json")
    values = json.loads(bad.out)
    assert bad.code == 1 and not values["passed"]
    assert {check["name"] for check in values["checks"] if check["status"] == "failed"} == {"round-trip"}
    chinese = call("--lang", "zh", "coach", file)
    assert chinese.code == 1 and "可读：" in chinese.out.decode() and "means" not in chinese.out.decode()
    wrong = call("coach", file, "--set", "model.widht=3")
    assert wrong.code == 3 and "widht" in wrong.err


def test_every_line_says_what_to_do() -> None:
    names = [lesson.name for lesson in LESSONS]
    assert len(set(names)) == len(names)
    for place, lesson in enumerate(LESSONS):
        assert lesson.meaning and lesson.attempt and lesson.read.startswith("docs/coach.md")
        assert set(lesson.after) <= set(names[:place])
    values = coach_values([CheckResult(one.name, one.title, Status.SKIPPED) for one in LESSONS])
    assert values["passed"] and len(values["checks"]) == len(LESSONS)
