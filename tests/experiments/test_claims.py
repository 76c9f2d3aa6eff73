"""Claims: no trial twice, by any number of processes and after any kill; a copy waits for what it is a copy of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.samples import GRID, HEAD, PROTOCOL, begun, carried_out, end
from openwork.experiments.claims import Claims, Waiting, Work
from openwork.experiments.experiment import Point

GUIDED = GRID.replace('"grid"', '"guided"')
RANDOM = GRID.replace('sampler = "grid"', 'sampler = "random"\ntrials = 6')
pytestmark = pytest.mark.slow

KILLED = """
import os, sys
from pathlib import Path
from openwork.experiments.claims import Claims
from openwork.experiments.file import read_experiment
from openwork.experiments.folder import ExperimentFolder
folder = ExperimentFolder(Path(sys.argv[1]))
assert Claims(read_experiment(folder.settings_file), folder).next().claim.number == 1
os._exit(9)
"""


def figure(point: Point) -> float:
    return float(sum(point.settings.values()))


def taken(found: Work | Waiting | None) -> Work:
    assert isinstance(found, Work)
    return found


def test_two_processes_get_different_trials_and_wait_for_each_other(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    one, other = Claims(experiment, folder), Claims(experiment, folder)
    works = [taken(claims.next()) for claims in (one, other, one, other)]
    assert [work.claim.number for work in works] == [1, 2, 3, 4]
    assert isinstance(one.next(), Waiting), "the best with the other seed follows from the four"
    for claims, work in zip((one, other, one, other), works, strict=True):
        end(claims, work, figure(work.claim.point))
    last = taken(other.next())
    assert last.claim.point.seed == 2 and isinstance(one.next(), Waiting)
    end(other, last, 1.0)
    assert one.next() is None and other.next() is None


@pytest.mark.parametrize("text", [GRID, GUIDED, RANDOM, PROTOCOL])
def test_any_number_of_starts_makes_the_trials_of_one(tmp_path: Path, text: str):
    if 'sampler = "random"' in text:
        pytest.importorskip("optuna", reason="needs the extra experiments")
    known = {"model.heads": 0.0, "model.dropout": 0.0, "training.learning_rate": 0.0}

    def of(point: Point) -> float:
        return float(sum(point.settings.get(key, value) for key, value in known.items()))

    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    whole = carried_out(*begun(tmp_path / "whole", text), of)
    experiment, folder = begun(tmp_path / "parts", text)
    parts = []
    while len(parts) < len(whole):
        parts += carried_out(experiment, folder, of, most=1)
    assert [one.point for one in parts] == [one.point for one in whole]
    assert [one.copy_of for one in parts] == [one.copy_of for one in whole]
    assert carried_out(experiment, folder, of) == []


def test_what_a_killed_process_began_is_the_first_thing_that_another_does(tmp_path: Path):
    experiment, folder = begun(tmp_path, GRID)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder.path)], env={**os.environ}, check=False)
    assert killed.returncode == 9
    again = taken(Claims(experiment, folder).next())
    assert again.claim.number == 1 and folder.trial(1).is_held
    assert taken(Claims(experiment, folder).next()).claim.number == 2


def test_a_copy_waits_for_the_training_that_it_is_a_copy_of(tmp_path: Path):
    text = HEAD.format(kind="factors", more="").replace("[1, 2]", "[1]")
    text += '[[variants]]\nname = "a"\nsettings = {"model.heads" = 2}\n[[variants]]\nname = "b"\n'
    experiment, folder = begun(tmp_path, text)
    claims = Claims(experiment, folder)
    first = taken(claims.next())
    assert isinstance(Claims(experiment, folder).next(), Waiting)
    end(claims, first, 3.0)
    second = taken(claims.next())
    assert (second.claim.point.variant, second.claim.copy_of) == ("b", 1)


def test_settings_that_do_not_fit_are_a_trial_that_says_so(tmp_path: Path):
    """Not every combination of values is a model: such a trial is claimed, and will fail."""
    text = HEAD.format(kind="factors", more="") + '[factors]\n"model.heads" = [2, 3]\n'
    experiment, folder = begun(tmp_path, text)
    assert [one.point.settings for one in carried_out(experiment, folder, lambda point: 1.0)] == [
        {"model.heads": 2}, {"model.heads": 3}, {"model.heads": 2}, {"model.heads": 3},
    ]  # fmt: skip
