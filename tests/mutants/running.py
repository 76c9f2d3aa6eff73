"""Shows mutants to tests: each in a process of its own, which imports a copy of the package with the change."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mutants.choosing import TESTS, tests_of
from mutants.making import SOURCE, Mutant
from mutants.plugin import FAILED

HANGS = 900.0  # seconds after which tests of a mutant are ended: a guard, and no measure
EACH_TEST = 120  # likewise of one test
KILLED, SURVIVED, HANGING, BROKEN = "killed", "survived", "hanging", "broken"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant; `by` is the test that failed, or what could not be imported."""

    mutant: Mutant
    outcome: str
    by: str = ""

    def to_json(self) -> dict[str, str]:
        return {"mutant": self.mutant.name, "change": self.mutant.change(), "outcome": self.outcome, "by": self.by}


class Copy:
    """A copy of the package, in which one file at a time is changed."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="openwork-mutants-"))
        self._passing: set[str] = set()
        shutil.copytree(SOURCE, self.folder / "openwork")

    def show(self, mutant: Mutant) -> Verdict:
        """Writes the change, runs the tests until one fails, and takes the change back.

        The test that failed runs once more without the change. One that fails there too says nothing of the mutant.
        """
        path, sound = self.folder / "openwork" / mutant.path, (SOURCE / mutant.path).read_bytes()
        path.write_text(mutant.code(), "utf-8")
        try:
            verdict = _judge(mutant, self._run([str(test) for test in tests_of(mutant.path)]))
        except subprocess.TimeoutExpired:
            verdict = Verdict(mutant, HANGING)
        finally:
            path.write_bytes(sound)
        if verdict.outcome == KILLED and not self._passes(verdict.by):
            return Verdict(mutant, BROKEN, f"{verdict.by} fails without the change too")
        return verdict

    def _passes(self, test: str) -> bool:
        if test not in self._passing and (not test or self._run([test]).returncode == 0):
            self._passing.add(test)
        return test in self._passing

    def _run(self, tests: list[str]) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{TESTS}", "PYTHONDONTWRITEBYTECODE": "1", "CI": "true",
            "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "mutants.plugin",
            "--hypothesis-profile", "quick", "--timeout", str(EACH_TEST), *tests,
        ]  # fmt: skip
        return subprocess.run(
            command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=HANGS, check=False
        )

    def close(self) -> None:
        shutil.rmtree(self.folder)


def _judge(mutant: Mutant, done: subprocess.CompletedProcess[str]) -> Verdict:
    if done.returncode == 0:
        return Verdict(mutant, SURVIVED)
    failed = [line.removeprefix(FAILED) for line in done.stdout.splitlines() if line.startswith(FAILED)]
    if not failed:  # a signal is that of a test that ended the process
        return Verdict(mutant, KILLED if done.returncode < 0 else BROKEN)
    return Verdict(mutant, KILLED, failed[0])
