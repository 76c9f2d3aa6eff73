"""Workers: each takes trials until none is left, in this process, in processes of this machine, or in those of Ray."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from openwork.base.errors import OpenworkError
from openwork.experiments.claims import Waiting
from openwork.experiments.file import read_experiment
from openwork.experiments.folder import ExperimentFolder
from openwork.experiments.trials.trial import TrialRunner
from openwork.machine.available import cores
from openwork.training.loop import INTERRUPTED, LoopState, Observer
from openwork.training.step import StepReport

PAUSE = 1.0  # seconds between looks at what other processes have finished
INTERRUPTED_CODE = 130  # of a command that was interrupted
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(eq=False)
class ParentObserver(Observer):
    """Ends a training, saved, when the process `parent` that has started this one is gone."""

    parent: int

    @property
    def is_gone(self) -> bool:
        return os.getppid() != self.parent

    def stepped(self, run: LoopState, report: StepReport) -> None:
        if self.is_gone:
            run.stop(INTERRUPTED)


def work(folder: ExperimentFolder, watchers: Sequence[Observer] = ()) -> bool:
    """Carries out trials until none is left; False where it was interrupted."""
    runner = TrialRunner(read_experiment(folder.settings_file), folder, watchers)
    parents = [watcher for watcher in watchers if isinstance(watcher, ParentObserver)]
    while (found := runner.claims.next()) is not None:
        if any(parent.is_gone for parent in parents):
            return False
        if isinstance(found, Waiting):
            time.sleep(PAUSE)
            continue
        if runner.carry_out(found) is None:
            return False
    return True


class Crew:
    """Processes of this machine that carry out trials, each with its share of the cores.

    They do not hear a Ctrl-C of the terminal: with a second signal they would end before they have saved. So there is
    one signal, at the end of the context.
    """

    def __init__(self, folder: ExperimentFolder, count: int) -> None:
        share = str(max(1, cores() // count))
        environment = {**os.environ, **dict.fromkeys(THREADS, share)}
        command = [sys.executable, "-m", "openwork", "experiment", "run", str(folder.path), "--quiet"]
        command += ["--worker", str(os.getpid())]
        self._processes = [subprocess.Popen(command, env=environment, process_group=0) for _ in range(count)]

    def __enter__(self) -> Self:
        return self

    def wait(self) -> bool:
        """Waits for all of them; False where they were interrupted. OpenworkError where one has failed."""
        codes = [process.wait() for process in self._processes]
        if INTERRUPTED_CODE in codes:
            return False
        if failed := [code for code in codes if code]:
            raise OpenworkError(
                f"{len(failed)} of the {len(codes)} workers have ended with exit code {failed[0]}",
                why="a worker says above what is wrong; one that was killed says nothing",
                hint="run the same command again: it goes on with the trials that were under way",
                code="E049",
            )
        return True

    def __exit__(self, *_: object) -> None:
        """Asks those that still run to save and to end."""
        for process in self._processes:
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            process.wait()


def ray_worker(folder: str) -> Callable[[int], bool]:
    """What a worker of Ray does with each of its items: it carries out trials until none is left."""
    return lambda number: work(ExperimentFolder(Path(folder)))
