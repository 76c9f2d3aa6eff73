"""An experiment that is killed goes on: at most the trials in flight are lost, and none that is over is made again.

`make faults` kills it at five random moments; the whole suite at one.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from experiments.samples import GRID, HEAD, write_experiment
from journeys.command import PATIENCE, TINY, openwork, start, told
from openwork.experiments.folder import ExperimentFolder

KILLS = 5 if os.environ.get("OPENWORK_FAULTS") == "long" else 1

pytestmark = pytest.mark.slow

FACTORS = HEAD.format(kind="factors", more='test = "test"\nmetric = "chrf"\nworkers = 2')
FACTORS += '[factors]\n"training.learning_rate" = [0.001, 0.01]\n"model.dropout" = [0.0]\n'
# Of longer trainings, whose every fourth update nobody needs to translate after.
BASE = TINY.replace("validate_every = 4", "validate_every = 50")
SEARCH = GRID.replace('sampler = "grid"', 'sampler = "random"\ntrials = 4\nworkers = 2')


def begin(folder: Path, text: str) -> tuple[Callable[[], subprocess.Popen[bytes]], ExperimentFolder]:
    """Starts an experiment in a process group of its own, as often as it is called."""
    file, out = write_experiment(folder, text, BASE), ExperimentFolder(folder / "out")

    def started() -> subprocess.Popen[bytes]:
        with (folder / "log.txt").open("ab") as log:
            return start("experiment", "run", file, "--out", out.path, start_new_session=True, stdout=log, stderr=log)

    return started, out


def wait_for(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Waits until something is so, or the process has ended."""
    end = time.monotonic() + PATIENCE
    while not condition() and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.02)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills it and its workers at once, unless it has ended."""
    if process.poll() is None:
        for one in (*psutil.Process(process.pid).children(recursive=True), process):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    process.wait()


def results(folder: ExperimentFolder) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in folder.trials.glob("*/trial.json")}


@pytest.mark.long
@pytest.mark.parametrize("text", [FACTORS, SEARCH], ids=["factors", "search"])
def test_kills_at_random_moments(tmp_path: Path, text: str):
    if text is SEARCH:
        pytest.importorskip("optuna", reason="needs the extra experiments")
    (tmp_path / "whole").mkdir()
    whole = openwork(
        "experiment", "run", write_experiment(tmp_path / "whole", text), "--out", tmp_path / "whole" / "out"
    )
    assert whole.code == 0, whole.err
    undisturbed = ExperimentFolder(tmp_path / "whole" / "out").board().results
    started, folder = begin(tmp_path, text)
    choose, over = random.Random(text), dict[str, bytes]()
    for number in range(KILLS):
        process = started()
        moment = number + choose.random()  # in trials that are over, and a part of one
        wait_for(lambda moment=moment: len(list(folder.trials.glob("*/.claim.json"))) > moment, process)
        time.sleep(choose.random())
        kill(process)
        assert over.items() <= results(folder).items(), "what was over is not made again"
        over = results(folder)
    process = started()
    assert process.wait(PATIENCE) == 0, (tmp_path / "log.txt").read_text()
    assert over.items() <= results(folder).items()
    now = folder.board().results
    assert {number: (one.settings, one.seed, one.validation) for number, one in now.items()} == {
        number: (one.settings, one.seed, one.validation) for number, one in undisturbed.items()
    }


def test_workers_end_with_the_process_that_started_them(tmp_path: Path):
    started, folder = begin(tmp_path, FACTORS.replace("updates = 4", "updates = 3000"))
    process = started()
    wait_for(lambda: len(list(folder.trials.glob("*/records.jsonl"))) == 2, process)
    workers = psutil.Process(process.pid).children()
    assert len(workers) == 2
    process.kill()
    process.wait()
    assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []
    assert results(folder) == {} and len(list(folder.trials.glob("*/checkpoints/*"))) >= 2


def test_ctrl_c_saves_and_the_same_command_goes_on(tmp_path: Path):
    started, folder = begin(tmp_path, FACTORS.replace("updates = 4", "updates = 30"))
    process = started()
    wait_for(lambda: results(folder), process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(PATIENCE) == 130, (tmp_path / "log.txt").read_text()
    assert "to continue, run the same command again" in (tmp_path / "log.txt").read_text()
    before = results(folder)
    assert before  # on a busy machine all of them, where the signal comes late
    resumed = openwork("experiment", "resume", folder.path, "--workers", "1")
    assert resumed.code == 0, resumed.err
    assert before.items() <= results(folder).items() and len(results(folder)) == 6


def test_a_worker_that_dies_is_named(tmp_path: Path):
    started, folder = begin(tmp_path, FACTORS.replace("updates = 4", "updates = 1000"))
    process = started()
    wait_for(lambda: len(list(folder.trials.glob("*/records.jsonl"))) == 2, process)
    for worker in psutil.Process(process.pid).children():
        worker.kill()
    assert process.wait(PATIENCE) == 1
    assert "error E049: 2 of the 2 workers have ended" in (tmp_path / "log.txt").read_text()


def test_a_folder_that_is_none_is_refused_before_its_workers(tmp_path: Path):
    told(openwork("experiment", "resume", tmp_path), 3, "C137", "there is no experiment")
