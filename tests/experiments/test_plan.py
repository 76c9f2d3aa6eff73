"""The phases of each kind of experiment, with results that are given."""

from pathlib import Path

import pytest

from experiments.samples import GRID, HEAD, PROTOCOL, begun, carried_out
from openwork.base.errors import OpenworkError
from openwork.experiments.claims import Claims
from openwork.experiments.experiment import Point
from openwork.experiments.heads import HEAD as WITHOUT
from openwork.experiments.plan import OWN, WHOLE, chosen, settings_of, total

pytestmark = pytest.mark.slow

LSTM = settings_of("LSTM")
FACTORS = HEAD.format(kind="factors", more="") + '[factors]\n"model.heads" = [1, 2]\n"model.dropout" = [0.0, 0.1]\n'


def test_factors_one_at_a_time_and_the_first_seed_of_all_comes_first(tmp_path: Path):
    trials = carried_out(*begun(tmp_path, FACTORS), lambda point: 1.0)
    cells = [("model.heads", {"model.heads": 1}), ("model.heads", {"model.heads": 2})]
    cells += [("model.dropout", {"model.dropout": 0.0}), ("model.dropout", {"model.dropout": 0.1})]
    assert [one.point for one in trials] == [Point("base", *cell, seed) for seed in (1, 2) for cell in cells]


def test_all_combinations_of_factors(tmp_path: Path):
    trials = carried_out(*begun(tmp_path, FACTORS + "cross = true\n"), lambda point: 1.0)
    assert [tuple(one.point.settings.values()) for one in trials if one.point.seed == 1] == [
        (1, 0.0), (1, 0.1), (2, 0.0), (2, 0.1),
    ]  # fmt: skip


def test_the_best_of_a_search_is_trained_with_all_seeds(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    trials = carried_out(experiment, folder, lambda point: float(point.settings["model.dropout"]))
    assert [(tuple(one.point.settings.values()), one.point.seed) for one in trials] == [
        ((1, 0.0), 1), ((1, 0.1), 1), ((2, 0.0), 1), ((2, 0.1), 1), ((1, 0.1), 2),
    ]  # fmt: skip
    assert [record.number for record in chosen(folder.board())] == [2, 5]
    assert sum(total(experiment)) == len(trials)


SHORT = "updates = 4\nsearch = 0.5"


def test_the_best_of_short_trials_trains_anew_with_all_seeds_and_alone_counts(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID.replace("updates = 4", SHORT))
    trials = carried_out(experiment, folder, lambda point: float(point.settings["model.dropout"]))
    assert [(tuple(one.point.settings.values()), one.point.seed, one.point.short) for one in trials] == [
        ((1, 0.0), 3, True), ((1, 0.1), 3, True), ((2, 0.0), 3, True), ((2, 0.1), 3, True),
        ((1, 0.1), 1, False), ((1, 0.1), 2, False),
    ]  # fmt: skip
    assert [one.number for one in chosen(folder.board())] == [5, 6]
    assert [one.number for one in folder.results() if one.score is not None] == [5, 6]
    assert sum(total(experiment)) == len(trials)
    assert (experiment.budget_of(trials[0].point).updates, experiment.budget_of(trials[4].point).updates) == (2, 4)


def test_the_protocol_with_short_searches(tmp_path: Path):
    """No trial of a search is one of those that are compared, and each structure's start is among its short ones."""
    experiment, folder = begun(tmp_path, PROTOCOL.replace("updates = 4", SHORT))

    def figure(point: Point) -> float:
        return point.settings["training.learning_rate"] * 100 + point.settings.get("model.heads", 0)

    trials = carried_out(experiment, folder, figure)
    assert [(one.point.variant, one.point.group, tuple(one.point.settings.values()), one.point.seed, one.copy_of)
            for one in trials] == [
        ("LSTM", LSTM, (0.001,), 3, None), ("LSTM", LSTM, (0.01,), 3, None),
        ("LSTM", LSTM, (0.01,), 1, None), ("Transformer", LSTM, (0.01,), 1, None),
        ("LSTM", LSTM, (0.01,), 2, None), ("Transformer", LSTM, (0.01,), 2, None),
        ("LSTM", OWN, (0.01,), 3, 2), ("Transformer", OWN, (0.01,), 3, None),
        ("Transformer", OWN, (0.01, 1), 3, None), ("Transformer", OWN, (0.01, 2), 3, 8),
        ("LSTM", OWN, (0.01,), 1, 3), ("LSTM", OWN, (0.01,), 2, 5),
        ("Transformer", OWN, (0.01, 2), 1, 4), ("Transformer", OWN, (0.01, 2), 2, 6),
    ]  # fmt: skip
    assert all(one.point.short == (one.point.seed == 3) for one in trials)
    assert sum(total(experiment)) == len(trials)


def test_the_protocol(tmp_path: Path):
    """The LSTM is tuned, the Transformer gets its settings, then each has its own settings searched, where it has any.

    What is the same training under another name is a copy.
    """
    experiment, folder = begun(tmp_path, PROTOCOL)

    def figure(point: Point) -> float:
        return point.settings["training.learning_rate"] * 100 + point.settings.get("model.heads", 0) + point.seed

    trials = carried_out(experiment, folder, figure)
    assert [(one.point.variant, one.point.group, tuple(one.point.settings.values()), one.point.seed, one.copy_of)
            for one in trials] == [
        ("LSTM", LSTM, (0.001,), 1, None), ("LSTM", LSTM, (0.01,), 1, None),
        ("Transformer", LSTM, (0.01,), 1, None),
        ("LSTM", LSTM, (0.01,), 2, None), ("Transformer", LSTM, (0.01,), 2, None),
        ("LSTM", OWN, (0.01,), 1, 2), ("Transformer", OWN, (0.01,), 1, 3),
        ("Transformer", OWN, (0.01, 1), 1, None), ("Transformer", OWN, (0.01, 2), 1, 3),
        ("LSTM", OWN, (0.01,), 2, 4), ("Transformer", OWN, (0.01, 2), 2, 5),
    ]  # fmt: skip
    assert sum(total(experiment)) == len(trials)


def test_heads_are_removed_from_each_model_that_has_finished(tmp_path: Path):
    experiment, folder = begun(tmp_path, HEAD.format(kind="heads", more=""))
    trials = carried_out(experiment, folder, lambda point: None if point.seed == 2 else 1.0)
    assert [(one.point.variant, one.point.seed) for one in trials[:2]] == [(WHOLE, 1), (WHOLE, 2)]
    assert [one.point.settings[WITHOUT] for one in trials[2:]] == [
        f"{name}.{head}" for name in (
            "encoder.layers.0.self_attention", "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention",
        ) for head in (1, 2)
    ]  # fmt: skip
    assert {one.point.seed for one in trials[2:]} == {1} and total(experiment) == (12, 2)


def test_a_search_of_which_nothing_finishes_has_no_best(tmp_path: Path):
    with pytest.raises(OpenworkError, match="none of the 4 trials of base has finished") as refused:
        carried_out(*begun(tmp_path, GRID), lambda point: None)
    assert refused.value.code == "E046" and refused.value.why == "the first says: not enough memory"


def test_failed_trials_are_passed_over(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    trials = carried_out(experiment, folder, lambda point: None if point.settings["model.heads"] == 2 else 1.0)
    assert [result.state for result in folder.board().results.values()] == ["finished"] * 2 + ["failed"] * 2 + [
        "finished"
    ]
    assert trials[-1].point.settings == {"model.heads": 1, "model.dropout": 0.0}, "of equal ones the first"
    assert [record.number for record in chosen(folder.board())] == [1, 5]
    assert Claims(experiment, folder).next() is None
