"""Shows mutants to tests: each in a process of its own, which imports a copy of the package with the change."""

import compileall
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mutants.choosing import TESTS, near, tests_of
from mutants.making import SOURCE, Mutant
from mutants.plugin import FAILED

HANGS = 900.0  # seconds after which tests of a mutant are ended: a guard, and no measure
EACH_TEST = 120  # likewise of one test
KILLED, SURVIVED, HANGING = "killed", "survived", "hanging"
# What takes longest to import and is never changed: a server imports it once, and each process is a copy of the server.
IMPORTED_ONCE = [
    "torch",
    "numpy",
    "pytest",
    "hypothesis",
    "jaxtyping",
    "beartype",
    "pydantic",
    "tokenizers",
    "sacrebleu",
]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant; `by` is the test that failed, or what could not be imported."""

    mutant: Mutant
    outcome: str
    by: str = ""

    def to_json(self) -> dict[str, str]:
        return {"mutant": self.mutant.name, "change": self.mutant.change(), "outcome": self.outcome, "by": self.by}


@dataclass(frozen=True)
class Done:
    """How tests ended: `code` is pytest's exit code, or the negative number of the signal that ended the process."""

    code: int
    failed: Sequence[str]


class Copy:
    """A copy of the package, in which one file at a time is changed, and the folders that are found from its place."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="openwork-mutants-"))
        self.package = self.folder / "src" / "openwork"
        self._passing: set[str] = set()
        self._unfit: set[str] = set()
        shutil.copytree(SOURCE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("recipes", "docs", "tests"):
            (self.folder / name).symlink_to(TESTS.parent / name)
        compileall.compile_dir(self.package, quiet=1)

    def show(self, mutant: Mutant) -> Verdict:
        """Writes the change, runs the tests until one fails, and takes the change back.

        The test that failed runs once more without the change. One that fails there too says nothing of any mutant: it
        is left out from then on, and the others are run again.
        """
        path, sound = self.package / mutant.path, (SOURCE / mutant.path).read_bytes()
        while True:
            _write(path, mutant.code().encode())
            try:
                verdict = self._judge(mutant)
            finally:
                _write(path, sound)
            if verdict.outcome != KILLED or self._passes(verdict.by):
                return verdict
            self._unfit.add(verdict.by)

    def _judge(self, mutant: Mutant) -> Verdict:
        nearest = near(mutant.path)
        for tests in (nearest, [test for test in tests_of(mutant.path) if test not in nearest]):
            done = self._run([str(test) for test in tests]) if tests else Done(0, ())
            if done is None:
                return Verdict(mutant, HANGING)
            if done.code:  # without a failed test: nothing could be imported, or the process was ended
                return Verdict(mutant, KILLED, done.failed[0] if done.failed else str(tests[0]))
        return Verdict(mutant, SURVIVED)

    def _passes(self, test: str) -> bool:
        if test not in self._passing:
            done = self._run([test])
            if done is None or done.code:
                return False
        self._passing.add(test)
        return True

    def _run(self, tests: list[str]) -> Done | None:
        """None for tests that do not end."""
        output = self.folder / "output"
        process = SERVER.Process(
            target=_tests, args=(str(self.package.parent), [*tests, *self._left_out()], str(output))
        )
        process.start()
        process.join(HANGS)
        if process.exitcode is None:
            os.kill(cast(int, process.pid), signal.SIGKILL)
            process.join()
            return None
        lines = output.read_text("utf-8", errors="replace").splitlines()
        return Done(process.exitcode, [line.removeprefix(FAILED) for line in lines if line.startswith(FAILED)])

    def _left_out(self) -> Iterator[str]:
        for test in sorted(self._unfit):
            yield from ("--deselect", test)

    def close(self) -> None:
        shutil.rmtree(self.folder)


def _write(path: Path, code: bytes) -> None:
    """Writes a module, and removes what was compiled of it."""
    path.write_bytes(code)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()


def _server() -> Any:
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED_ONCE)
    return context


SERVER = _server()


def _tests(folder: str, tests: list[str], output: str) -> None:
    """Runs in the new process: the tests, with the package in `folder` instead of the one that is installed."""
    import pytest

    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it, and its children
    sys.path[:0] = [folder, str(TESTS)]
    sys.dont_write_bytecode = False  # what pytest and jaxtyping make of each file is kept for the next process
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{TESTS}"
    os.chdir(TESTS.parent)
    code = pytest.main(
        ["-x", "-q", "-p", "no:cacheprovider", "-p", "mutants.plugin", "--hypothesis-profile", "quick",
         "--timeout", str(EACH_TEST), *tests]
    )  # fmt: skip
    sys.stdout.flush()
    os._exit(code)
