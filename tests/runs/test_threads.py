"""A run keeps the number of threads that it began with, and one that has noted none goes on without."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import TINY, Finished

pytestmark = pytest.mark.slow


def test_a_run_that_began_before_threads_were_noted_goes_on(
    call: Callable[..., Finished], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(TINY)
    assert call("train", "tiny.toml", "--out", "run").code == 0
    written = Path("run/run.toml").read_text()
    noted = [line for line in written.splitlines() if line.startswith("threads = ")]
    assert len(noted) == 1
    shutil.rmtree("run/bundle")  # as if it had been stopped before its end
    Path("run/run.toml").write_text(written.replace(f"{noted[0]}\n", ""))
    done = call("train", "tiny.toml", "--out", "run")
    assert done.code == 0, done.err
    assert "threads = " not in Path("run/run.toml").read_text()
