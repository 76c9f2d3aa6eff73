"""The state of an experiment in words."""

from pathlib import Path

import pytest

from experiments.samples import GRID, HEAD, begun, carried_out
from openwork.experiments.claims import Claims
from openwork.experiments.result import TouchedTestSet, write_written
from openwork.experiments.status import read_state, state_lines, summary_line, trial_name


@pytest.mark.slow
def test_trials_are_counted_and_named(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    claims = Claims(experiment, folder)
    carried_out(experiment, folder, lambda point: None if point.settings["model.dropout"] else 20.0, most=2)
    running = claims.next()
    lines = state_lines(read_state(experiment, folder))
    assert lines[0] == "2 of about 5 trials are over, 1 failed, 1 running; about 0s are left"
    assert lines[1:] == [
        "   1  finished  bleu 20.00  base, model.heads = 1, model.dropout = 0.0, seed 1",
        "   2  failed  base, model.heads = 1, model.dropout = 0.1, seed 1: not enough memory",
        "   3  running  0%  base, model.heads = 2, model.dropout = 0.0, seed 1",
    ]
    assert running is not None
    running.lock.release()
    assert "1 waiting" in summary_line(read_state(experiment, folder))


@pytest.mark.slow
def test_what_is_left_is_shared_by_the_workers(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    carried_out(experiment, folder, lambda point: 1.0, most=1)
    result = folder.board().results[1]
    write_written(folder.trial(1).result, result.model_copy(update={"seconds": 30.0}))
    assert read_state(experiment, folder).seconds_left == 120
    assert read_state(experiment, folder, workers=2).seconds_left == 60
    assert read_state(experiment, folder, workers=9).seconds_left == 30, "four trials keep four of nine busy"


@pytest.mark.slow
def test_scoring_a_model_without_a_head_takes_less_than_training_it(tmp_path: Path):
    experiment, folder = begun(tmp_path, HEAD.format(kind="heads", more=""))
    carried_out(experiment, folder, lambda point: 1.0, most=3)
    for number, seconds in ((1, 100.0), (2, 140.0), (3, 2.0)):
        result = folder.board().results[number]
        write_written(folder.trial(number).result, result.model_copy(update={"seconds": seconds}))
    state = read_state(experiment, folder)
    assert state.planned == 14 and state.seconds_left == 11 * 2.0


@pytest.mark.slow
def test_short_trials_take_their_part_of_the_time_that_is_left(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID.replace("updates = 4", "updates = 4\nsearch = 0.5"))
    carried_out(experiment, folder, lambda point: 1.0, most=1)
    result = folder.board().results[1]
    write_written(folder.trial(1).result, result.model_copy(update={"seconds": 30.0}))
    state = read_state(experiment, folder)
    assert state.seconds_left == 3 * 30 + 2 * 60 and state.planned == 6
    assert "seed 3, short" in state_lines(state)[1]


def test_the_test_set_that_was_touched_is_mentioned(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    touched = TouchedTestSet(test="test", sentences=2, rule="the best", metric="bleu", trials=(1,), started=0.0)
    write_written(folder.test, touched)
    assert "the test set was touched at" in state_lines(read_state(experiment, folder))[-1]


def test_a_trial_without_a_head_is_named_by_it():
    name = trial_name("without head 2", "decoder.layers.0.self_attention", {"heads.without": "x.2"}, 1, short=False)
    assert name == "without head 2, decoder.layers.0.self_attention, seed 1"
