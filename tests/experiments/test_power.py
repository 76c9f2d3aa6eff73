"""Tables of the seeds that a difference needs, and what an experiment says of the spread."""

from pathlib import Path

import pytest

from experiments.simulated import arms, experiment, make_test_set, score_on_test_set
from openwork.base.errors import DataError
from openwork.experiments.power import power_lines, spread_of_experiment
from openwork.metrics.power import Spread, seeds_needed

pytest.importorskip("scipy", reason="the extra experiments is not installed")


@pytest.mark.slow
def test_the_tables():
    spread = Spread(0.3, 11.0, 12.0)
    lines = list(power_lines(spread, differences=(0.5, 2.0), sentences=(1_000, 3_000)))
    rows = [line.split() for line in lines]
    assert ["difference", "1,000", "3,000"] in rows
    new, these = ([str(seeds_needed(2.0, spread, count, new_texts=texts)) for count in (1_000, 3_000)]
                  for texts in (True, False))  # fmt: skip
    assert ["2", *new] in rows and ["2", *these] in rows
    assert ["0.5", "–", "–"] in rows, "so small a difference needs more sentences"
    assert "A difference of 0.5 needs 3,799 sentences at least, however many seeds there are." in lines


@pytest.mark.slow
def test_what_an_experiment_has_measured(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [30.0, 31.0, 32.0], "b": [29.0, 30.0, 31.0]})
    make_test_set(folder, {"a": [0.2, 0.3, 0.25], "b": [0.25, 0.2, 0.3]})
    spread = spread_of_experiment(folder)
    assert 0 < spread.both < 100 and spread.seeds > 0


def test_other_metrics_are_means_of_sentences(tmp_path: Path):
    """Seeds with means of 1 and 3 and nothing else that varies: deviation sqrt(2) between seeds."""
    folder = arms(
        experiment(tmp_path / "e", metric="exact"),
        {"a": [1.0, 3.0], "b": [1.0, 3.0]},
        metric="exact",
        validation={"exact": 1},
    )
    for place, score in zip(sorted(folder.glob("trials/*")), (1.0, 3.0, 1.0, 3.0), strict=True):
        score_on_test_set(place, score, [score, score + 1], scores={"exact": score})
    spread = spread_of_experiment(folder)
    assert (spread.seeds, spread.sentences, spread.both) == pytest.approx((2**0.5, 0, 0), abs=1e-6)


def test_without_a_test_set_nothing_was_measured(tmp_path: Path):
    folder = arms(experiment(tmp_path / "e"), {"a": [1.0, 2.0], "b": [1.0, 2.0]})
    with pytest.raises(DataError, match="nothing to plan with was measured here"):
        spread_of_experiment(folder)
