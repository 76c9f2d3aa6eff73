"""A run file's mistakes all at once, and doubts about what is allowed."""

from pathlib import Path

import pytest

from openwork.base.config import Layer, apply_assignments
from openwork.base.errors import UsageError
from openwork.runs.file.keys import known_keys
from openwork.runs.file.resolve import Checked, check_run_file, resolve_run
from openwork.runs.file.warnings import find_conflicts, find_warnings, idle_warnings

WRONG = """[data]
corpus = "copie"
[model]
preset = "tinny"
widht = 3
[training]
stepz = 3
label_smoothing = 3
"""


def check(tmp_path: Path, text: str, *assignments: str) -> Checked:
    (tmp_path / "x.toml").write_text(text)
    return check_run_file(tmp_path / "x.toml", list(assignments))


def test_all_mistakes_with_their_lines(tmp_path: Path):
    checked = check(tmp_path, WRONG)
    whats = [error.what.removeprefix(f"{tmp_path}/x.toml:") for error in checked.mistakes]
    assert whats == [
        "4: there is no preset 'tinny'",
        "5: unknown key model.widht",
        "7: unknown key training.stepz",
        "8: training.label_smoothing = 3 is not allowed",
        "2: copie: no such corpus",
    ]
    assert [error.hint for error in checked.mistakes][:3] == [
        "did you mean tiny?",
        "did you mean width?",
        "did you mean steps?",
    ]
    facts = checked.to_json()
    assert facts["valid"] is False and len(facts["mistakes"]) == 5
    assert facts["mistakes"][1]["hint"] == "did you mean width?"


def test_rules_between_keys(tmp_path: Path):
    checked = check(tmp_path, '[data]\ncorpus = "copy"\n[model]\nwidth = 10\nheads = 4\n')
    assert "width 10 is not divisible by 4 heads" in checked.mistakes[0].what


def test_assignments_count(tmp_path: Path):
    good = '[data]\ncorpus = "copy"\n'
    assert check(tmp_path, good).mistakes == ()
    assert "--set model.width=x" in check(tmp_path, good, "model.width=x").mistakes[0].what
    with pytest.raises(UsageError, match="not an assignment"):
        check(tmp_path, good, "model.width")


def test_the_bundle_of_a_fine_tuning_is_looked_at(tmp_path: Path):
    text = f'[data]\ncorpus = "copy"\n[fine_tuning]\nfrom_bundle = "{tmp_path}/nothing"\n'
    assert check(tmp_path, text).mistakes[0].what.endswith("nothing: no such folder")


@pytest.mark.parametrize("text", ["[data", 'x = "', "data = 3", "model = 3"])
def test_what_is_no_table_of_ours_is_one_mistake_at_least(tmp_path: Path, text: str):
    assert check(tmp_path, text).mistakes


# For each rule: a run in which the key does nothing, and one in which it acts.
CASES = {
    "decoding.length_penalty": ("1.0", "decoding.beam=1", "decoding.beam=2"),
    "decoding.length_rule": ("power", "decoding.length_penalty=0.0", "decoding.beam=2"),
    "decoding.patience": ("2.0", "decoding.beam=1", "decoding.beam=2"),
    "decoding.diversity": ("0.7", "decoding.groups=1", "decoding.groups=2"),
    "decoding.seed": ("7", "decoding.samples=0", "decoding.samples=3"),
    "text.samplings": ("3", "text.sampling=0.0", "text.sampling=0.1"),
    "text.minimum_frequency": ("3", "text.kind=unigram", "text.kind=words"),
    "text.vocabulary_size": ("900", "text.source_file=x", "text.placeholders=1"),
    "text.kind": ("unigram", "text.source_file=x", "text.placeholders=1"),
    "training.learning_rate": ("0.1", "training.schedule=paper", "training.schedule=constant"),
    "training.schedule_scale": ("2.0", "training.schedule=constant", "training.schedule=paper"),
    "training.lowest_rate": ("0.00001", "training.schedule=constant", "training.schedule=linear"),
    "training.beta1": ("0.8", "training.optimiser=sgd", "training.optimiser=adamw"),
    "training.beta2": ("0.8", "training.optimiser=adafactor", "training.optimiser=adam"),
    "training.epsilon": ("1e-8", "training.optimiser=sgd", "training.optimiser=adagrad"),
    "training.average": ("3", "training.validate_every=50_000", "training.validate_every=40_000"),
    "training.matrix_rate": ("3.0", "training.optimiser=adam", "training.optimiser=muon"),
    "training.momentum": ("0.8", "training.optimiser=adam", "training.optimiser=sgd"),
    "training.mask_share": ("0.3", "model.width=64", "model.kind=encoder model.task=fill training.metric=loss"),
    "training.mask_whole_words": ("true", "model.width=64", "model.kind=encoder model.task=fill training.metric=loss"),
    "training.slant": ("20.0", "training.schedule=linear", "training.schedule=slanted-triangular"),
    "training.smoothing_form": ("others", "training.label_smoothing=0.0", "training.label_smoothing=0.1"),
    "data.held_out": ("10", "data.corpus=copy", "data.mix=[{corpus='copy'}]"),
}


def warnings(*assignments: str) -> list[str]:
    data = () if any(text.startswith("data.mix") for text in assignments) else ("data.corpus=copy",)
    layer = apply_assignments(Layer(), [*data, *assignments])
    return find_warnings(resolve_run(layer), layer)


def test_every_rule_has_a_case_and_a_key():
    idle = {
        sentence.split()[0]: sentence
        for arguments in (cases[1] for cases in CASES.values())
        for sentence in idle_warnings(resolve_run(apply_assignments(Layer(), ["data.corpus=copy", arguments])))
    }
    assert set(idle) == set(CASES)
    assert set(CASES) <= {key.name for key in known_keys()}


@pytest.mark.parametrize("key", CASES)
def test_a_key_without_effect_is_told_where_it_has_none(key: str):
    value, idle, acting = CASES[key]
    (sentence,) = warnings(f"{key}={value}", idle)
    assert sentence.startswith(f"{key} ")
    assert warnings(f"{key}={value}", *acting.split()) == []
    assert warnings(idle) == []  # what nobody wrote is nobody's mistake


def test_a_rate_that_only_rises_and_validations_that_never_come():
    assert warnings("training.steps=100", "training.warmup=99", "training.validate_every=100") == []
    assert (
        "the rate only rises" in warnings("training.steps=100", "training.warmup=100", "training.validate_every=9")[0]
    )
    assert (
        "validate_every (101)" in warnings("training.steps=100", "training.warmup=1", "training.validate_every=101")[0]
    )


# For each rule between keys: settings that it is about, words that it says, and nearly the same without its reason.
BETWEEN = {
    "overlap": ("training.steps=9_000 training.warmup=5_000 training.cooldown=4_001", "training.cooldown=4_000"),
    "differ in dropout alone": ("training.r_drop=1.0 model.dropout=0.0", "model.feedforward_dropout=0.1"),
    "as large as the vocabulary": ("text.vocabulary_size=300 decoding.beam=300", "decoding.beam=299"),
    "which counts": ("decoding.minimum_length=9 decoding.maximum_length=8", "decoding.maximum_length=9"),
    "not even a comma": ("decoding.no_repeat=1", "decoding.no_repeat=2"),
    "learn to copy": ("data.source=a data.target=a", "data.target=b"),
    "would learn to copy": (
        "data.source=a data.target=a", "model.kind=encoder model.task=fill training.metric=loss",
    ),
    "says nothing of other sentences": (
        "data.source=a data.target=b data.valid_source=a data.valid_target=b", "data.valid_source=c",
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", BETWEEN)
def test_keys_that_do_not_go_together(words: str):
    wrong, right = (text.split() for text in BETWEEN[words])
    assert [words in line for line in conflicts(*wrong)] == [True]
    assert conflicts(*wrong, *right) == []


def conflicts(*assignments: str) -> list[str]:
    data = () if any(text.startswith("data.") for text in assignments) else ("data.corpus=copy",)
    layer = apply_assignments(Layer(), [*data, *assignments])
    return find_conflicts(resolve_run(layer), layer)


def test_files_that_are_not_there(tmp_path: Path):
    (tmp_path / "a").touch()
    text = f'[data]\nsource = "{tmp_path}/a"\ntarget = "{tmp_path}/b"\nvalid_tsv = "{tmp_path}/c"\n'
    told = check(tmp_path, text).warnings
    assert [line.partition(" is not there")[0] for line in told] == [f"{tmp_path}/b", f"{tmp_path}/c"]
