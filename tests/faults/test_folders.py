"""Folders that may not be written, that vanish, that two want at once, that are replaced; odd names, odd clocks."""

import os
import shutil
import time
from pathlib import Path

import pytest

from faults.nursery import Nursery
from faults.runs import LONG, PATIENCE, Undisturbed, is_a_sentence, write_pairs, write_settings
from journeys.command import tree
from openwork.base.folders import atomic_folder
from openwork.bundles.bundle import load_bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]


# ------------------------------------------------------------------------------------------------ may not be written


def test_read_only_folder(whole: Undisturbed, tmp_path: Path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    done = whole.start_again(locked / "run", ["give_up_rights"])
    is_a_sentence(done, "cannot be made", "Permission denied")
    is_a_sentence(whole.start_again(locked, ["give_up_rights"]), "nothing can be written there", "Permission denied")
    assert list(locked.iterdir()) == []


PARTS = [".", "checkpoints", "stores", "tokenizers", "run.toml", "records.jsonl"]


@pytest.mark.parametrize("part", PARTS if LONG else ["checkpoints", "records.jsonl"])
def test_read_only_part_of_a_run(whole: Undisturbed, half: Path, part: str):
    """Whoever may not write there is told so; whoever may goes on."""
    before = tree(half / "checkpoints")
    mode = (half / part).stat().st_mode
    (half / part).chmod(0o555 if (half / part).is_dir() else 0o444)
    done = whole.start_again(half, ["give_up_rights"])
    if done.code:
        is_a_sentence(done, "Permission denied")
        assert tree(half / "checkpoints") == before
    (half / part).chmod(mode)
    whole.comes_to_the_same(half) if done.code else whole.is_the_same(half)


def test_read_only_place_for_an_average(nursery: Nursery, whole: Undisturbed, half: Path, tmp_path: Path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    done = nursery.run("average", half, "--last", "2", "--out", locked / "mean", faults=[["give_up_rights"]])
    is_a_sentence(done, "Permission denied")


# ------------------------------------------------------------------------------------------------ two at once


def test_two_runs_that_start_at_the_same_moment(whole: Undisturbed, tmp_path: Path):
    for number in range(20 if LONG else 3):
        out = tmp_path / f"run {number}"
        two = [whole.nursery.start("train", whole.settings, "--out", out) for _ in range(2)]
        first, second = sorted((child.wait() for child in two), key=lambda done: done.code)
        assert first.code == 0, first.err
        assert "another openwork is training in this folder" in second.err or "is finished" in second.err, second.err
        whole.is_the_same(out)


def test_bundle_that_is_replaced_while_it_is_read(whole: Undisturbed, half: Path, nursery: Nursery, tmp_path: Path):
    """Each reading gives one of the two bundles, whole; there is no moment without a bundle."""
    other = tmp_path / "other"
    made = nursery.run("average", half, "--last", "2", "--out", other)
    assert made.code == 0, made.err
    place = shutil.copytree(whole.bundle, tmp_path / "bundle")
    cards = {load_bundle(path).card for path in (whole.bundle, other)}
    assert len(cards) == 2
    writer = os.fork()
    if writer == 0:
        try:
            for number in range(100_000):
                with atomic_folder(place) as partial:
                    shutil.copytree((whole.bundle, other)[number % 2], partial, dirs_exist_ok=True)
                time.sleep(0.4)  # else a busy machine never reads one to its end
        finally:
            os._exit(0)
    try:
        seen: list[tuple[str, object]] = []
        began, least = time.monotonic(), 20 if LONG else 2
        while time.monotonic() < began + least or {card for card, _ in seen} != cards:  # until a busy machine saw both
            bundle = load_bundle(place)
            seen.append((bundle.card, bundle.golden))
    finally:
        os.kill(writer, 9)
        os.waitpid(writer, 0)
    assert {card for card, _ in seen} == cards
    assert len(dict(seen)) == len(set(seen)) == 2


# ------------------------------------------------------------------------------------------------ folders that vanish


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_folder_that_vanishes_during_the_training(whole: Undisturbed, tmp_path: Path, how: str):
    out, aside = tmp_path / "run", tmp_path / "aside"
    child = whole.nursery.start("train", whole.settings, "--set", "training.steps=1000000", "--out", out)
    child.wait_until(lambda: "step=4 " in child.said())
    out.rename(aside)
    if how == "removed":
        shutil.rmtree(aside)
    if how == "replaced":
        out.mkdir()
        (out / ".lock").touch()
    done = child.wait(60)
    is_a_sentence(done, "the folder of this run has vanished", "removed, moved or replaced")
    assert done.code == 1
    if how == "replaced":
        assert [path.name for path in out.iterdir()] == [".lock"]  # nothing was written into what is another's
    else:
        assert not out.exists()
    if how == "moved":
        assert list((aside / "checkpoints").glob("step-*"))


# ------------------------------------------------------------------------------------------------ odd names, odd clocks

NAMES = {
    "spaces": "two words",
    "Chinese": "猫追狗 🐱",
    "newline": "line\nbreak",
    "quotes": "'quotes\" $HOME `id`",
    "dash": "-dash",
    "250 bytes": "x" * 250,
    "252 bytes": "猫" * 84,
    "deep": "a/" * 120 + "run",
}


@pytest.mark.parametrize("kind", NAMES if LONG else ["newline", "252 bytes"])
def test_names(whole: Undisturbed, nursery: Nursery, tmp_path: Path, kind: str):
    """Of the run's folder, of its corpus, of a bundle: a name is a name."""
    name = NAMES[kind]
    folder = tmp_path / name
    folder.mkdir(parents=True)
    settings = write_settings(tmp_path, *write_pairs(folder)) if "\n" not in name else whole.settings
    out = folder / "run"
    done = nursery.run("train", settings, "--out", out)
    assert done.code == 0, done.err
    whole.is_the_same(out)
    assert nursery.run("train", settings, "--out", tmp_path / "next" / name).code == 0
    mean = tmp_path / "mean" / name
    made = nursery.run("average", out, tmp_path / "next" / name, "--out", mean)
    assert made.code == 0, made.err
    assert nursery.run("translate", "--bundle", mean, stdin=b"a b\n").out.count(b"\n") == 1


def test_name_that_is_too_long_for_any_disk(whole: Undisturbed, tmp_path: Path):
    is_a_sentence(whole.start_again(tmp_path / ("x" * 300)), "File name too long")
    is_a_sentence(whole.start_again(tmp_path / ("x/" * 3000)), "File name too long")


def test_clock_that_goes_backwards(whole: Undisturbed, tmp_path: Path):
    out = tmp_path / "run"
    done = whole.start_again(out, ["clock_backwards"])
    assert done.code == 0, done.err
    whole.is_the_same(out)
