"""Experiment files that contradict themselves are refused, each with a sentence and a code."""

from pathlib import Path

import pytest

from experiments.samples import GRID, HEAD, PROTOCOL, write_experiment
from openwork.base.errors import ConfigError
from openwork.experiments import experiment
from openwork.experiments.file import read_experiment

FACTORS = HEAD.format(kind="factors", more="")
SEARCH = HEAD.format(kind="search", more="")
VARIANT = '[[variants]]\nname = "a"\nsettings = {"model.heads" = 1}\n'


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (GRID.replace("[1, 2]\nsampler", "[1, 1]\nsampler"), "C115", "a seed is named twice"),
        (GRID.replace("sampler", 'test_source = "a.en"\nsampler'), "C116", "test_source and test_target go together"),
        (GRID.replace("sampler", 'test = "a"\ntest_source = "b"\ntest_target = "c"\nsampler'), "C116", "replace test"),
        (GRID.replace("sampler", 'test = "test"\nmetric = "loss"\nsampler'), "C117", 'the metric "loss"'),
        (GRID.replace("updates = 4", "updates = 4\ntokens = 100"), "C118", "a budget has one length"),
        (GRID.replace("updates = 4", "weights = 100"), "C118", "a budget has one length"),
        (GRID.replace("updates = 4", "updates = 4\nweights = 9\nwidth_factor = 0.5"), "C119", "weights and"),
        (FACTORS + VARIANT + VARIANT, "C120", "two variants have the same name"),
        (GRID.partition("[budget]")[0] + "[space]" + GRID.partition("[space]")[2], "C121", "no budget"),
        (SEARCH, "C122", "the space is empty"),
        (SEARCH + VARIANT + '[space]\n', "C122", "the space is empty"),
        (FACTORS, "C123", "nothing to compare"),
        (PROTOCOL.replace("baseline = true", ""), "C124", "a baseline and another structure"),
        (PROTOCOL.partition("[[variants]]")[0], "C124", "a baseline and another structure"),
        (GRID + '[factors]\n"model.dropout" = [0.1]\n', "C125", 'of the kind "search" has no such section'),
        (FACTORS + VARIANT + '[space]\n"model.dropout" = [0.1]\n', "C125", 'of the kind "factors"'),
        (HEAD.format(kind="heads", more="") + VARIANT, "C126", "heads are removed from one model"),
        (GRID + '"training.learning_rate" = {low = 0.1, high = 1.0}\n', "C127", "training.learning_rate is a range"),
        (SEARCH + '[space]\n"model.heads" = {low = 2, high = 1}\n', "C130", "from 2 to 1 there is no range"),
        (SEARCH + '[space]\n"model.heads" = {low = 1, high = 8, log = true, step = 1}\n', "C131", "log and step"),
        (PROTOCOL.replace('"training.learning_rate"', '"text.vocabulary_size"'), "C128", "changes the data"),
        (GRID.replace("updates = 4", "updates = 4\nweights = 9") + '"model.width" = [2, 4]\n', "C129", "the widths"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself_is_refused(tmp_path: Path, text: str, code: str, words: str):
    with pytest.raises(ConfigError, match=words) as refused:
        read_experiment(write_experiment(tmp_path, text))
    assert refused.value.code == code and refused.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GRID.replace("seeds", "sedes"), "did you mean seeds"),
        (GRID.replace('"search"', '"serach"'), 'experiment.kind = "serach" is not allowed'),
        (GRID.replace("[1, 2]\nsampler", "[]\nsampler"), "seeds"),
        (GRID.replace("updates = 4", "updates = 0"), "updates"),
        (GRID.replace("[0.0, 0.1]", "[]"), "model.dropout"),
    ],
)
def test_a_key_or_value_that_there_is_not_is_refused_with_its_line(tmp_path: Path, text: str, words: str):
    with pytest.raises(ConfigError) as refused:
        read_experiment(write_experiment(tmp_path, text))
    assert "trying.toml" in refused.value.what and words in f"{refused.value.what} {refused.value.hint}"


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (GRID, "optuna and scipy"),
        (PROTOCOL.replace("[1, 2]", "[1]", 1), "optuna"),
        (FACTORS + VARIANT, "scipy"),
        (FACTORS.replace("[1, 2]", "[1]") + VARIANT, ""),
        (GRID.replace("[1, 2]", "[1]", 1).replace('"grid"', '"gp"'), "optuna and scipy"),
    ],
)
def test_what_is_not_installed_is_named_before_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, missing: str
):
    monkeypatch.setattr(experiment, "find_spec", lambda name: None)
    found = read_experiment(write_experiment(tmp_path, text))
    if not missing:
        found.check_extras()
        return
    with pytest.raises(ConfigError, match=f"need {missing}, not installed here") as refused:
        found.check_extras()
    assert refused.value.code == "C139" and missing.replace(" and", "") in str(refused.value.hint)


@pytest.mark.parametrize("text", [GRID, PROTOCOL, FACTORS + VARIANT])
def test_what_goes_together_is_taken(tmp_path: Path, text: str):
    found = read_experiment(write_experiment(tmp_path, text))
    found.check()
    assert found.settings.experiment.name == "trying" and found.budget.updates == 4
