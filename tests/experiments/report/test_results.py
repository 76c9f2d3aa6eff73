"""What a report reads of an experiment's folder, and what it refuses."""

import json
from pathlib import Path

import pytest

from experiments.simulated import arms, experiment, score_on_test_set, trial
from openwork.base.errors import ConfigError, DataError
from openwork.experiments.report.results import read_results


def test_trials_of_one_variant_and_settings_are_an_arm(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    trial(folder, 1, "a", 2, 30.0, settings={"model.heads": 1})
    trial(folder, 2, "a", 1, 31.0, settings={"model.heads": 1})
    trial(folder, 3, "a", 1, 32.0, settings={"model.heads": 2})
    trial(folder, 4, "b", 1, 33.0)
    found = {arm.name: arm.scores for arm in read_results(folder).arms}
    assert found == {"a (heads = 1)": [31.0, 30.0], "a (heads = 2)": [32.0], "b": [33.0]}


def test_the_best_of_a_search_keeps_the_short_name(tmp_path: Path):
    """Trials of the search have one seed each, the best all of them."""
    folder = experiment(tmp_path / "e", "protocol")
    for number, (width, seed) in enumerate([(64, 1), (128, 1), (128, 2)], start=1):
        trial(folder, number, "lstm", seed, 20.0, group="settings of lstm", settings={"model.width": width})
    trial(folder, 4, "transformer", 1, 20.0, group="settings of lstm", settings={"model.width": 128})
    names = [arm.name for arm in read_results(folder).arms]
    assert names == [
        *("lstm (settings of lstm, width = 64)", "lstm (settings of lstm)"),
        "transformer (settings of lstm)",
    ]


def test_names_are_told_apart_by_their_number(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    trial(folder, 1, "a", 1, 1.0, settings={"x.y": 1})
    trial(folder, 2, "a", 1, 1.0, settings={"z.y": 1})
    assert [arm.name for arm in read_results(folder).arms] == ["y = 1 (1)", "y = 1 (2)"]


def test_what_counts(tmp_path: Path):
    """A failed trial, one ended early, one without a figure, and the same seed twice are no more observations."""
    folder = experiment(tmp_path / "e")
    trial(folder, 1, "a", 1, 30.0)
    trial(folder, 2, "a", 1, 31.0)
    trial(folder, 3, "a", 2, 99.0, state="failed", problem={"code": "E001", "what": "no", "why": ""})
    trial(folder, 4, "a", 3, 99.0, state="pruned")
    trial(folder, 5, "a", 4, None)
    trial(folder, 6, "a", 5, float("nan"))
    (arm,) = read_results(folder).arms
    assert arm.scores == [31.0] and arm.trainings == (2,)


def test_scores_of_the_test_set(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [30.0, 31.0], "b": [29.0, 28.0]})
    for place, score in zip(sorted(folder.glob("trials/*")), (40.0, 41.0, 42.0, 43.0), strict=True):
        score_on_test_set(place, score, [score, score + 1], [[1, 2], [3, 4]])
    one, _ = read_results(folder).arms
    assert one.test_scores == [40, 41]
    assert one.sentences is not None and one.sentences.tolist() == [[40, 41], [41, 42]]
    assert one.statistics is not None and one.statistics.shape == (2, 2, 2)


def test_a_copy_is_the_training_that_it_copies(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    trial(folder, 7, "a", 1, 1.0, copy_of=3)
    assert read_results(folder).arms[0].trainings == (3,)


def test_what_is_no_experiment_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="there is no experiment"):
        read_results(tmp_path)


@pytest.mark.parametrize("key", ["signature", "tokenizers", "data", "metric"])
def test_what_cannot_be_compared_is_refused(tmp_path: Path, key: str):
    """Both trials are named, and what they have."""
    folder = experiment(tmp_path / "e")
    trial(folder, 3, "a", 1, 1.0, **{key: "bleu"})
    trial(folder, 4, "b", 1, 1.0, **{key: "chrf"})
    with pytest.raises(DataError, match="trials 3 and 4 cannot be compared") as caught:
        read_results(folder)
    assert caught.value.why == "bleu against chrf"


def test_a_failed_trial_need_not_be_comparable(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    trial(folder, 1, "a", 1, 1.0)
    trial(folder, 2, "b", 1, None, state="failed", signature="", tokenizers="")
    assert len(read_results(folder).trials) == 2


def test_another_test_set_is_refused(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [1.0, 2.0]})
    one, other = sorted(folder.glob("trials/*"))
    score_on_test_set(one, 1.0, [1.0, 2.0])
    score_on_test_set(other, 1.0, [1.0, 2.0, 3.0])
    with pytest.raises(
        DataError, match="trials 1 and 2 cannot be compared: the number of sentences of the test set differs"
    ):
        read_results(folder)


@pytest.mark.parametrize("content", ["", "[1]", '{"number": 1}', "{" * 100_000, '{"format": 2}', "\xff"])
def test_damaged_results_are_refused(tmp_path: Path, content: str):
    folder = arms(experiment(tmp_path / "e"), {"a": [1.0]})
    path = folder / "trials" / "0001" / "trial.json"
    path.write_text(content, "latin-1")
    with pytest.raises(DataError, match=r"trial\.json: this file of an experiment is damaged"):
        read_results(folder)


def test_a_damaged_experiment_is_refused(tmp_path: Path):
    folder = experiment(tmp_path / "e", more="[")
    with pytest.raises(ConfigError, match=r"experiment\.toml"):
        read_results(folder)


def test_importance_by_study(tmp_path: Path):
    folder = experiment(tmp_path / "e")
    values = {"lstm": {"model.width": 0.7, "note": "x"}, "tf": {}, "format": 1}
    (folder / "importance.json").write_text(json.dumps(values), "utf-8")
    assert read_results(folder).importance == {"lstm": {"model.width": 0.7}}


def test_the_seed_that_chooses_is_the_first_of_a_search(tmp_path: Path):
    kinds = {"search": 1, "protocol": 1, "factors": None, "heads": None}
    assert {kind: read_results(experiment(tmp_path / kind, kind)).choosing_seed for kind in kinds} == kinds
