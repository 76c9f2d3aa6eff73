"""What works beside the process and dies, or finds no memory."""

import os
import signal
import time
from pathlib import Path

import pytest

from faults.nursery import Child, Nursery
from faults.runs import LONG, PATIENCE, Undisturbed, is_a_sentence, write_pairs, write_settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]
LINES = b"".join(b"%s\n" % b" ".join(b"abcdefgh"[place % 8 : place % 8 + 1] for place in range(number, number + 9))
                 for number in range(2000))  # fmt: skip


def copies(process: int) -> list[int]:
    """The processes that it has made of itself and that still work."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(one) for one in found]


def translating(nursery: Nursery, whole: Undisturbed, out: Path) -> Child:
    """A translation by two processes; of whole files, for which no thread waits for lines."""
    (out.parent / "lines").write_bytes(LINES)
    files = ("--source", out.parent / "lines", "--reference", out.parent / "lines")
    options = ("--bundle", whole.bundle, *files, "--beam", "4", "--out", out)
    return nursery.start("evaluate", *options, faults=[["two_threads"]])


@pytest.fixture(scope="module")
def right(nursery: Nursery, whole: Undisturbed, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("right") / "out"
    done = translating(nursery, whole, out).wait()
    assert done.code == 0, done.err
    return (out / "translations.txt").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only on Linux are processes copied")
@pytest.mark.parametrize("number", range(10 if LONG else 1))
def test_killed_while_translating(nursery: Nursery, whole: Undisturbed, right: bytes, tmp_path: Path, number: int):
    """One of them, or both: its sentences are done by the others, and no line is lost."""
    child = translating(nursery, whole, tmp_path / "out")
    child.wait_until(lambda: len(copies(child.process)) == 2)
    time.sleep(0.02 * number)
    for process in copies(child.process)[: 1 + number % 2]:
        os.kill(process, signal.SIGKILL)
    done = child.wait()
    assert done.code == 0 and "Traceback" not in done.err, done.err
    assert (tmp_path / "out/translations.txt").read_bytes() == right


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only on Linux are processes copied")
def test_whose_process_is_killed(nursery: Nursery, whole: Undisturbed, tmp_path: Path):
    """They end by themselves: none goes on working for nobody."""
    child = translating(nursery, whole, tmp_path / "out")
    child.wait_until(lambda: len(copies(child.process)) == 2)
    orphans = copies(child.process)
    child.kill()
    assert child.wait().code == -9
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{one}").exists() for one in orphans) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(Path(f"/proc/{one}").exists() for one in orphans)


def test_thread_of_a_training(whole: Undisturbed, nursery: Nursery, tmp_path: Path):
    """An error in one of two threads is that of the training; what was saved stays.

    The preflight computes 14 parts before.
    """
    settings, out = write_settings(tmp_path, *write_pairs(tmp_path), steps=12), tmp_path / "run"
    options = ("--set", "training.workers=2", "--out", out)
    done = nursery.run("train", settings, *options, faults=[["failing_part", 29]])
    assert done.code == 1 and "Traceback" not in done.err and "unexpected ZeroDivisionError" in done.err, done.err
    assert (out / "checkpoints/step-00000003").is_dir()
    again = nursery.run("train", settings, *options)
    assert again.code == 0 and "continuing after update" in again.err, again.err


@pytest.mark.long
def test_too_little_memory(nursery: Nursery, tmp_path: Path):
    """The system itself refuses: batches are computed in parts, said once, and the training comes to its end."""
    settings = write_settings(
        tmp_path, *write_pairs(tmp_path, 3000), tokens=20_000, width=128, feedforward_width=1024, steps=2,
        validate_every=2, precision='"float32"',
    )  # fmt: skip
    done = nursery.run("train", settings, "--out", tmp_path / "run", faults=[["limit_memory", 420 << 20]])
    assert done.code == 0, done.err
    assert done.err.count("memory is not enough for whole batches") == 1 and "make the same update" in done.err
    once = ("--set", "training.steps=1", "--set", "training.validate_every=1")
    assert nursery.run("train", settings, "--out", tmp_path / "free", *once).err.count("memory is not enough") == 0


def test_no_memory_at_all(nursery: Nursery, tmp_path: Path):
    settings = write_settings(tmp_path, *write_pairs(tmp_path), width=512, feedforward_width=4096)
    done = nursery.run("train", settings, "--out", tmp_path / "run", faults=[["limit_memory", 30 << 20]])
    is_a_sentence(done, "not enough memory", "batches.tokens")
