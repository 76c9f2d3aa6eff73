"""What is tested in an experiment, on small results that were worked by hand."""

import math
from pathlib import Path

import pytest

from experiments.simulated import arms, experiment, make_test_set, trial
from openwork.experiments.report.findings import (
    against_base,
    base_of,
    on_new_texts,
    protocols,
    rank,
    ranking,
    two_systems,
    with_reference,
)
from openwork.experiments.report.results import read_results
from openwork.metrics.estimates import contrast, holm

pytest.importorskip("scipy", reason="the extra experiments is not installed")

BASE = '[[variants]]\nname = "full"\n[[variants]]\nname = "one head"\nsettings = {"model.heads" = 1}\n'


def protocol(folder: Path, cells: dict[tuple[str, str], list[float]], **more: object) -> Path:
    """Trials of the protocol with an LSTM as its baseline."""
    experiment(folder, "protocol", metric=str(more.get("metric", "bleu")))
    number = 0
    for (variant, group), scores in cells.items():
        for seed, score in enumerate(scores, start=1):
            number += 1
            trial(folder, number, variant, seed, score, group=group, **more)
    return folder


def test_the_best_and_what_is_tied_with_it():
    found = rank({"a": [30.0, 30.2], "b": [30.1, 29.9], "c": [10.0, 10.1], "single": [99.0]}, sign=1)
    assert found is not None and found.best == "a" and found.tied == {"a", "b"}
    with_best = with_reference("a", found.comparisons)
    assert [(one.first, one.second) for one in with_best] == [("a", "b"), ("a", "c")]
    assert with_best[1].estimate.value == pytest.approx(-20.05)
    lower = rank({"a": [2.0, 2.1], "b": [1.0, 1.1]}, sign=-1)
    assert lower is not None and lower.best == "b"
    (turned,) = with_reference("b", lower.comparisons)
    assert (turned.first, turned.second, turned.estimate.value) == ("b", "a", pytest.approx(1.0))
    assert turned.estimate.p == lower.comparisons[0].estimate.p
    assert rank({"a": [1.0, 2.0], "b": [1.0]}, sign=1) is None


def test_the_base_of_an_ablation_changes_nothing(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e", more=BASE), {"full": [30.0, 31.0, 32.0], "one head": [28.0, 29.0, 30.0]})
    results = read_results(folder)
    assert base_of(results) == "full"
    scores = {arm.name: arm.scores for arm in results.arms}
    (found,) = against_base("full", scores)
    assert (found.first, found.second, found.estimate.value) == ("full", "one head", -2)
    assert found.adjusted == found.estimate.p, "a family of one"
    assert against_base("full", {"full": [1.0], "b": [1.0, 2.0]}) == []


def test_the_baseline_of_a_table_is_its_base_whatever_it_changes(tmp_path: Path):
    rows = (
        '[[variants]]\nname = "base"\nbaseline = true\nsettings = {"model.heads" = 8}\n'
        '[[variants]]\nname = "A1"\nsettings = {"model.heads" = 1}\n'
    )
    results = read_results(arms(experiment(tmp_path / "e", more=rows), {"base": [5.0, 5.2], "A1": [3.0, 3.3]}))
    assert base_of(results) == "base"


def test_two_arms_that_change_nothing_are_no_base(tmp_path: Path):
    assert base_of(read_results(arms(experiment(tmp_path / "e"), {"a": [1.0, 2.0], "b": [1.0, 2.0]}))) is None


CELLS = {
    ("lstm", "settings of lstm"): [24.0, 25.0, 26.0],
    ("tf", "settings of lstm"): [27.0, 28.0, 29.0],
    ("tf", "own settings"): [30.0, 32.0, 34.0],
    ("lstm", "own settings"): [25.0, 26.0, 27.0],
}


def test_the_gains_of_four_cells_by_hand(tmp_path: Path):
    """Means 25, 28, 32 and 26: structure 3, tuning 4 and 1, both 6, interaction 4 - 1."""
    (found,) = protocols(read_results(protocol(tmp_path / "e", CELLS)), tested=False)
    assert (found.baseline, found.structure) == ("lstm", "tf")
    values = [gain.estimate.value for gain in found.gains if gain.estimate]
    assert values == pytest.approx([3, 4, 1, 6, 3])
    interaction = found.gains[-1].estimate
    by_hand = contrast([(-1, [27, 28, 29]), (1, [30, 32, 34]), (1, [24, 25, 26]), (-1, [25, 26, 27])])
    assert interaction == by_hand and by_hand.error == pytest.approx(math.sqrt((1 + 4 + 1 + 1) / 3))
    assert [gain.without for gain in found.gains] == pytest.approx([3, 4.5, 1, 6.5, 3.5]), "means 25.5, 28.5, 33, 26.5"
    by_holm = holm([gain.estimate.p for gain in found.gains if gain.estimate])
    assert [gain.adjusted for gain in found.gains] == by_holm
    assert [gain.published for gain in found.gains] == pytest.approx([2.3, 1.6, None, 3.9, None], abs=0.01)


def test_without_the_fourth_cell_nothing_is_known_of_the_interaction(tmp_path: Path):
    cells = {key: scores for key, scores in CELLS.items() if key != ("lstm", "own settings")}
    (found,) = protocols(read_results(protocol(tmp_path / "e", cells)), tested=False)
    values = [gain.estimate and round(gain.estimate.value, 6) for gain in found.gains]
    assert values == [3, 4, None, 7, None]


def test_a_cell_that_copies_another_adds_no_error(tmp_path: Path):
    """A baseline without settings of its own has the same trainings in both cells; the interaction is the tuning."""
    folder = protocol(tmp_path / "e", {key: CELLS[key] for key in [*CELLS][:3]})
    for seed, score in enumerate(CELLS["lstm", "settings of lstm"], start=1):
        trial(folder, 9 + seed, "lstm", seed, score, group="own settings", copy_of=seed)
    (found,) = protocols(read_results(folder), tested=False)
    tuning, of_baseline, interaction = (found.gains[place].estimate for place in (1, 2, 4))
    assert interaction == tuning
    assert of_baseline is not None and (of_baseline.value, of_baseline.error) == (0, 0)


def test_a_loss_that_falls_is_a_gain(tmp_path: Path):
    cells = {("lstm", "settings of lstm"): [3.0, 3.1], ("tf", "settings of lstm"): [2.0, 2.1]}
    folder = protocol(tmp_path / "e", cells, metric="loss")
    for path in folder.glob("trials/*/trial.json"):
        path.write_text(path.read_text("utf-8").replace('"loss": 2.0, "bleu"', '"x": 2.0, "loss"'), "utf-8")
    (found,) = protocols(read_results(folder), tested=False)
    assert found.gains[0].estimate is not None and found.gains[0].estimate.value == pytest.approx(1.0)


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three variants on a test set: two with about the same rate of wrong words, one that is worse."""
    validation = {"full": [30.0, 31.0, 30.5], "one head": [30.2, 30.4, 30.3], "poor": [20.0, 20.5, 21.0]}
    folder = arms(experiment(tmp_path_factory.mktemp("scored") / "e", more=BASE), validation)
    make_test_set(folder, {"full": [0.2, 0.21, 0.19], "one head": [0.21, 0.2, 0.2], "poor": [0.5, 0.55, 0.6]})
    return folder


@pytest.mark.slow
def test_new_texts_by_both_ways(scored: Path):
    results = read_results(scored)
    for by_bootstrap in (False, True):
        found = {
            (one.first, one.second): one.is_shown for one in on_new_texts(results, None, by_bootstrap=by_bootstrap)
        }
        assert found == {("full", "one head"): False, ("full", "poor"): True, ("one head", "poor"): True}
    corpus = {arm.name: sum(arm.test_scores) / 3 for arm in results.arms}
    (first, *_) = on_new_texts(results, None, by_bootstrap=True)
    assert first.estimate.value == pytest.approx(corpus["one head"] - corpus["full"])


@pytest.mark.slow
def test_new_texts_with_a_base_are_a_family_of_their_own(scored: Path):
    """Two comparisons, so that the larger p stays what it is."""
    results = read_results(scored)
    for by_bootstrap in (False, True):
        found = on_new_texts(results, "full", by_bootstrap=by_bootstrap)
        assert [(one.first, one.second) for one in found] == [("full", "one head"), ("full", "poor")]
        assert found[0].adjusted == found[0].estimate.p and found[1].adjusted == pytest.approx(2 * found[1].estimate.p)
    assert on_new_texts(results, "absent", by_bootstrap=False) == []


def test_all_gains_of_a_report_are_one_family(tmp_path: Path):
    """Two structures against one baseline: corrected for ten gains, not for five."""
    cells = {
        **CELLS,
        **{(f"{variant}2", group): scores for (variant, group), scores in CELLS.items() if variant == "tf"},
    }
    one, other = protocols(read_results(protocol(tmp_path / "e", cells)), tested=False)
    p = [gain.estimate.p for gain in [*one.gains, *other.gains] if gain.estimate]
    assert len(p) == 10 and [gain.adjusted for gain in [*one.gains, *other.gains]] == holm(p)


@pytest.mark.slow
def test_two_given_systems_are_those_that_validation_chose(scored: Path):
    """The best two variants by their means, of each the training with the best figure; what the test set says counts
    not.
    """
    results = read_results(scored)
    validation = ranking(results, tested=False)
    assert validation is not None
    found = two_systems(results, validation)
    assert found is not None and found[:2] == ("full", "one head")
    first, second = results.arms[0].counted[1].test, results.arms[1].counted[1].test
    assert first and second
    assert found[2].value == pytest.approx(second.scores["bleu"] - first.scores["bleu"], abs=0.01)


def test_a_ranking_on_the_test_set(scored: Path):
    found = ranking(read_results(scored), tested=True)
    assert found is not None and "poor" not in found.tied


def test_without_sentences_there_is_no_test_on_new_texts(tmp_path: Path):
    results = read_results(arms(experiment(tmp_path / "e"), {"a": [1.0, 2.0], "b": [1.0, 3.0]}))
    validation = ranking(results, tested=False)
    assert on_new_texts(results, None, by_bootstrap=True) == on_new_texts(results, None, by_bootstrap=False) == []
    assert validation is not None and two_systems(results, validation) is None
