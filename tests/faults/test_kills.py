"""kill -9 at every moment at which a file can be spoilt, and at random ones: the same end after the same command."""

import shutil
import time
from pathlib import Path
from random import Random

import pytest

from faults.runs import LONG, PATIENCE, Undisturbed, some
from openwork.base.records import read_records

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]
KILLS = 50 if LONG else 3  # at random moments


def test_killed_at_each_operation_on_its_files(whole: Undisturbed, tmp_path: Path):
    """Preparing, learning the vocabulary, storing, training, saving, choosing, writing the bundle: the n-th opening,
    write (half done), flush, renaming or removal of a file is the last thing that the process does."""
    for number in some(len(whole.operations), 3):
        out = tmp_path / f"run {number}"
        killed = whole.start_again(out, ["at_operation", out, number, "kill"])
        assert killed.code == -9, f"{number}: {killed.err}"
        if (out / "bundle").exists():
            whole.is_the_same(out)
        else:
            whole.comes_to_the_same(out)
        shutil.rmtree(out)


def test_killed_at_random_moments_again_and_again(whole: Undisturbed, tmp_path: Path):
    """Each run is killed some times, also while it goes on after a kill, until the kills are used up."""
    chance = Random(20171206)
    started = time.monotonic()
    whole.start_again(tmp_path / "timed")
    lasts = time.monotonic() - started
    kills = runs = 0
    while kills < KILLS:
        out = tmp_path / f"run {runs}"
        for _ in range(5):
            child = whole.nursery.start("train", whole.settings, "--out", out)
            time.sleep(chance.uniform(0.0, 1.0) * lasts)
            child.kill()
            code = child.wait().code
            kills += code == -9
            if code == 0 or (out / "bundle").exists():
                break
        if (out / "bundle").exists():
            whole.is_the_same(out)
        else:
            whole.comes_to_the_same(out)
        assert read_records(out / "records.jsonl")  # every line of it is whole
        runs += 1


@pytest.mark.parametrize("most", [1_000, 5_000, 20_000] if not LONG else [int(60 * 1.15**power) for power in range(50)])
def test_killed_within_a_write(whole: Undisturbed, tmp_path: Path, most: int):
    """The system itself stops a write after so many bytes of a file, and the process with it."""
    out = tmp_path / "run"
    killed = whole.start_again(out, ["limit_files", most, True])
    if most < 60_000:
        assert killed.code == -25, killed.err  # SIGXFSZ
    whole.comes_to_the_same(out) if not (out / "bundle").exists() else whole.is_the_same(out)
