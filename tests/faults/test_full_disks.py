"""Disks that are full: at any write of a training, truly full ones, and behind the output of a translation."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from disks import filled, mounted
from faults.nursery import Nursery
from faults.runs import LONG, PATIENCE, Undisturbed, is_a_sentence, some
from journeys.command import tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]


def test_full_at_each_operation(whole: Undisturbed, tmp_path: Path):
    """From the n-th operation on, in all that a training writes. What was saved stays, and with room it goes on."""
    for number in some(len(whole.operations), 4):
        out = tmp_path / f"run {number}"
        full = whole.start_again(out, ["at_operation", out, number, "full"])
        if full.code == 0:  # nothing was left to be written
            whole.is_the_same(out)
            continue
        said = is_a_sentence(full)
        assert "No space left on device" in said or "free some space" in said, said
        assert not [path for path in out.rglob("*") if path.name.endswith(".partial")], whole.operations[number]
        before = tree(out / "checkpoints")
        done = whole.comes_to_the_same(out)
        assert not before or "continuing after update" in done.err
        shutil.rmtree(out)


@pytest.mark.parametrize("most", [500, 30_000, 70_000] if not LONG else [int(60 * 1.3**power) for power in range(28)])
def test_files_that_the_system_cuts_off(whole: Undisturbed, tmp_path: Path, most: int):
    """A real refusal in the middle of a write: of run file, vocabulary, store, checkpoint or bundle."""
    out = tmp_path / "run"
    cut = whole.start_again(out, ["limit_files", most, False])
    if most < 60_000:
        said = is_a_sentence(cut)
        assert "File too large" in said or len(said.encode()) == most  # what is said goes into a file, too
    whole.comes_to_the_same(out)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", "700k") as disk:
        yield disk


@pytest.mark.parametrize("room", [8, 60, 260] if not LONG else range(0, 640, 20))
def test_a_disk_with_little_room(whole: Undisturbed, small_disk: Path, room: int):
    """A real disk gets full somewhere between the run file and the bundle."""
    filler = filled(small_disk, room * 1024)
    out = small_disk / "run"
    full = whole.start_again(out)
    if full.code:
        is_a_sentence(full)
        assert any(words in full.err for words in ("full", "No space left", "too little room")), full.err
    filler.unlink()
    whole.is_the_same(out) if full.code == 0 else whole.comes_to_the_same(out)


FILTERS = [("translate",), ("translate", "--json"), ("score",), ("tokenize",)]


@pytest.mark.parametrize("command", FILTERS if LONG else FILTERS[:1])
def test_output_of_a_filter(nursery: Nursery, whole: Undisturbed, command: tuple[str, ...]):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    lines = b"a\tb\n" * 2000
    done = nursery.run(command[0], "--bundle", whole.bundle, *command[1:], stdin=lines, stdout="/dev/full")
    is_a_sentence(done, "the output cannot be written", "No space left on device")
    assert done.code == 1


def test_output_that_is_cut_off_holds_whole_lines_before(nursery: Nursery, whole: Undisturbed):
    """What reached a full disk is the beginning of what would have been written."""
    lines = b"a b c\n" * 400
    all_of_it = nursery.run("translate", "--bundle", whole.bundle, "--beam", "1", stdin=lines).out
    cut = nursery.run(
        "translate", "--bundle", whole.bundle, "--beam", "1", stdin=lines, faults=[["limit_files", 1000, False]]
    )
    is_a_sentence(cut, "the output cannot be written", "File too large")
    assert len(all_of_it) > 1000 and cut.out == all_of_it[:1000]
