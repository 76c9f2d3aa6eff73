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
        shutil.copytree(SOURCE, self.folder / "openwork")

    def show(self, mutant: Mutant) -> Verdict:
        """Writes the change, runs the tests until one fails, and takes the change back."""
        path, sound = self.folder / "openwork" / mutant.path, (SOURCE / mutant.path).read_bytes()
        path.write_text(mutant.code(), "utf-8")
        try:
            return _judge(mutant, self._run(mutant))
        except subprocess.TimeoutExpired:
            return Verdict(mutant, HANGING)
        finally:
            path.write_bytes(sound)

    def _run(self, mutant: Mutant) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{TESTS}", "PYTHONDONTWRITEBYTECODE": "1", "CI": "true",
            "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "mutants.order",
            "--hypothesis-profile", "quick", "--timeout", str(EACH_TEST), *map(str, tests_of(mutant.path)),
        ]  # fmt: skip
        return subprocess.run(
            command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=HANGS, check=False
        )

    def close(self) -> None:
        shutil.rmtree(self.folder)


def _judge(mutant: Mutant, done: subprocess.CompletedProcess[str]) -> Verdict:
    if done.returncode == 0:
        return Verdict(mutant, SURVIVED)
    lines = done.stdout.splitlines()
    failed = next((line for line in lines if line.startswith(("FAILED ", "ERROR "))), "")
    if not failed and done.returncode not in (1, 2):  # such as a test that ended the process
        return Verdict(mutant, KILLED if done.returncode < 0 else BROKEN, f"exit code {done.returncode}")
    return Verdict(mutant, KILLED, failed.partition(" ")[2].partition(" - ")[0])
