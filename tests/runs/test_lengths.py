"""What follows from the number of a run's updates: by hand."""

import json
from pathlib import Path

import pytest

from openwork.base.config import Layer, apply_assignments, read_run, read_run_file, to_toml
from openwork.base.errors import ConfigError, UsageError
from openwork.runs.file.automatic import choose, choose_for_tuning, chosen_lengths
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings
from openwork.runs.file.warnings import find_conflicts
from openwork.runs.folder import NewLength, RunFolder
from openwork.runs.length import MinutesBudget, Wanted, follow_steps, new_length, with_steps
from openwork.training.progress import Progress, Validation
from runs.test_automatic import corpus


def settings(**training: object) -> RunSettings:
    values = {"schedule": "constant", "warmup": 10, "metric": "loss", "steps": 100, **training}
    return resolve_run(Layer({"data": {"corpus": "copy"}, "training": values}))


def run_at(folder: Path, made: int, run: RunSettings, *, losses: tuple[float, ...] = ()) -> RunFolder:
    """A run that has made so many updates in 10 s for each, and has been validated in 20 s for each loss."""
    validations = [Validation(step, loss, 1.0, seconds=20.0) for step, loss in enumerate(losses, 1)]
    place = folder / f"checkpoints/step-{made:08d}"
    place.mkdir(parents=True)
    progress = Progress(step=made, seconds=10.0 * made, validations=validations)
    (place / "state.json").write_text(json.dumps({"progress": progress.to_json()}))
    (folder / "run.toml").write_text(to_toml(run))
    return RunFolder(folder)


def changed(folder: Path, made: int, steps: int, **training: object) -> NewLength:
    before = settings(**training)
    return new_length(run_at(folder, made, before), before, Wanted(before, steps=steps))


@pytest.mark.slow
@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 5, 20, 99, 300, 1_500, 77_777])
def test_any_number_of_updates_makes_a_run_without_conflicts(tuned: bool, steps: int):
    sections, reasons = (choose_for_tuning if tuned else choose)(corpus(2_000), wanted=steps)
    layer = Layer({"data": {"corpus": "copy"}, **sections})
    run = resolve_run(layer)
    assert run.training.steps == steps and f"{steps:,} updates" in " ".join(reasons)
    assert [line for line in find_conflicts(run, layer) if "warmup" not in line or steps > 5] == []


def test_lengths_of_a_long_run_are_what_they_were():
    assert chosen_lengths(1_500) == {"warmup": 200, "cooldown": 375, "validate_every": 100}
    assert chosen_lengths(300) == {"warmup": 60, "cooldown": 75, "validate_every": 100}
    assert chosen_lengths(30_000) == {"warmup": 3_000, "cooldown": 7_500, "validate_every": 2_000}


@pytest.mark.parametrize(
    ("made", "steps", "cooldown", "is_exact"),
    [
        (50, 60, 10, True),  # 12 in proportion, and 10 are left
        (50, 200, 40, True),
        (80, 160, 32, True),  # the last update before the cool-down
        (81, 160, 32, False),
        (90, 95, 10, False),  # the rate was 11/21 of its peak, and is 6/11 of it: it goes on falling from there
        (100, 150, 30, False),
    ],
)
def test_another_length(tmp_path: Path, made: int, steps: int, cooldown: int, is_exact: bool):
    length = changed(tmp_path, made, steps, cooldown=20)
    assert (length.after.training.steps, length.after.training.cooldown) == (steps, cooldown)
    assert length.is_exact is is_exact


@pytest.mark.parametrize(("schedule", "made", "is_exact"), [("linear", 10, True), ("linear", 11, False),
    ("cosine", 11, False), ("inverse-square-root", 99, True), ("paper", 99, True)])  # fmt: skip
def test_schedules_that_know_their_end_are_exact_in_the_warm_up_alone(
    tmp_path: Path, schedule: str, made: int, is_exact: bool
):
    assert changed(tmp_path, made, 200, schedule=schedule).is_exact is is_exact


def test_what_was_not_exact_once_stays_so(tmp_path: Path):
    (tmp_path / "records.jsonl").write_text('{"kind": "changed", "exact": false}\n')
    assert not changed(tmp_path, 50, 60).is_exact


def test_minutes_from_now(tmp_path: Path):
    """10 s and a validation of 20 s for every 10 updates: 12 s; 600 s less five validations are 41 updates."""
    before = settings(validate_every=10)
    folder = run_at(tmp_path, 20, before, losses=(2.0, 1.0))
    assert new_length(folder, before, Wanted(before, minutes=10)).after.training.steps == 20 + 41


def test_what_cannot_be(tmp_path: Path):
    with pytest.raises(UsageError, match="has made 50 updates already, and cannot end after 40"):
        changed(tmp_path / "a", 50, 40)
    before = settings(cooldown=20)
    folder = run_at(tmp_path / "b", 50, before)
    longer = settings(cooldown=80)
    with pytest.raises(ConfigError, match=r"cooldown \(80\) cannot be longer than the run \(60 steps\)"):
        new_length(folder, before, Wanted(longer, steps=60, kept=frozenset({"cooldown"})))
    (tmp_path / "c").mkdir()
    (tmp_path / "c/run.toml").write_text(to_toml(before))
    with pytest.raises(UsageError, match="its speed is not known"):
        new_length(RunFolder(tmp_path / "c"), before, Wanted(before, minutes=1))


def test_a_run_that_no_longer_got_better(tmp_path: Path):
    before = settings(patience=2)
    folder = run_at(tmp_path, 50, before, losses=(1.0, 2.0, 3.0))
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle/bundle.json").touch()
    with pytest.raises(UsageError, match="its loss no longer improved") as caught:
        new_length(folder, before, Wanted(before, steps=200))
    assert "training.patience=4" in caught.value.hint
    assert new_length(folder, before, Wanted(settings(patience=4), steps=200)).after.training.patience == 4


def test_a_budget_by_hand():
    """600 s: a quarter allows for 7 validations of 20 s, five of them at the end; 560 s of updates are left."""
    run = settings(cooldown=20, validate_every=10)
    found = MinutesBudget(10).applied(run, update=2.0, validation=20.0).training
    looks = 2
    assert found.steps == (600 - (looks + 5) * 20) / 2 == 230
    assert (found.cooldown, found.warmup, found.validate_every) == (46, 10, 115)
    kept = MinutesBudget(10, frozenset({"validate_every", "cooldown"})).applied(run, 2.0, 20.0).training
    assert (kept.steps, kept.cooldown, kept.validate_every) == ((600 - 5 * 20) // (2 + 20 / 10), 20, 10)
    assert MinutesBudget(0.01).applied(run, 100.0, 100.0).training.steps == 1


def test_lengths_in_proportion():
    training = with_steps(settings(cooldown=20, validate_every=50), 10).training
    assert (training.steps, training.cooldown, training.warmup, training.validate_every) == (10, 2, 1, 5)


def followed(tmp_path: Path, text: str, *assignments: str, is_own: bool = False) -> tuple[dict, list[str]]:
    (tmp_path / "x.toml").write_text(f'[data]\ncorpus = "copy"\n[training]\n{text}')
    file, said = read_run_file(tmp_path / "x.toml"), []
    layer = follow_steps(file, apply_assignments(file, assignments), chosen_lengths if is_own else None, said.append)
    return dict(layer.mapping["training"]), said


def test_a_cool_down_of_the_file_gets_no_longer_than_the_run(tmp_path: Path):
    text = "steps = 2000\ncooldown = 500\nwarmup = 100\n"
    short, said = followed(tmp_path, text, "training.steps=300")
    assert short == {"steps": 300, "cooldown": 75, "warmup": 100}
    assert said == ["training.cooldown follows training.steps: 500 -> 75"]
    assert followed(tmp_path, text, "training.steps=600")[0]["cooldown"] == 500  # which is what the file says
    explicit, said = followed(tmp_path, text, "training.steps=300", "training.cooldown=400")
    assert explicit["cooldown"] == 400 and said == []


def test_what_openwork_chose_is_chosen_anew(tmp_path: Path):
    text = "steps = 1500\ncooldown = 375\nwarmup = 123\nvalidate_every = 100\n"
    found, _ = followed(tmp_path, text, "training.steps=4000", is_own=True)
    assert found == {"steps": 4000, "cooldown": 1000, "warmup": 123, "validate_every": 250}
    assert followed(tmp_path, text, "training.steps=4000")[0]["validate_every"] == 100  # a file of the user's own


def test_no_warning_about_what_openwork_wrote(tmp_path: Path):
    """The file of a run has every setting; only what differs from the defaults was meant."""
    sections, _ = choose(corpus(2_000))
    written = to_toml(resolve_run(Layer({"data": {"corpus": "copy"}, **sections})))
    (tmp_path / "run.toml").write_text(written)
    layer = read_run(tmp_path / "run.toml", [], {})
    assert find_conflicts(resolve_run(layer), layer) == []
    meant = read_run(tmp_path / "run.toml", ["training.momentum=0.5"], {})
    assert len(find_conflicts(resolve_run(meant), meant)) == 1
