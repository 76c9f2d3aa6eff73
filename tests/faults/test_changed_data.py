"""Files that change under a training: it goes on from its own copy, and who resumes is told what that means."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from faults.nursery import Nursery
from faults.runs import LONG, PATIENCE, SAME, is_a_sentence, write_pairs, write_settings
from journeys.command import Finished, tree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]
Change = Callable[[Path], object]

CHANGES: dict[str, Change] = {
    "lines appended": lambda path: path.write_text(path.read_text() + "x y z\n"),
    "cut short": lambda path: path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:40])),
    "replaced": lambda path: path.write_text("".join(f"{line} z\n" for line in path.read_text().splitlines()[::-1])),
    "emptied": lambda path: path.write_text(""),
    "removed": lambda path: path.unlink(),
}


@pytest.mark.parametrize("how", CHANGES if LONG else ["cut short"])
def test_under_a_running_training(nursery: Nursery, tmp_path: Path, how: str):
    """It has read what it needs: the bundle is that of the files of then."""
    source, target = write_pairs(tmp_path)
    settings = write_settings(tmp_path, source, target, steps=40, validate_every=20)
    reference, out = tmp_path / "reference", tmp_path / "run"
    assert nursery.run("train", settings, "--out", reference).code == 0
    child = nursery.start("train", settings, "--out", out)
    child.wait_until(lambda: "step=2 " in child.said())
    for path in (source, target):
        CHANGES[how](path)
    done = child.wait()
    assert done.code == 0, done.err
    for name in SAME:
        assert (out / "bundle" / name).read_bytes() == (reference / "bundle" / name).read_bytes(), name


def killed(nursery: Nursery, settings: Path, out: Path, *faults: Sequence[object]) -> None:
    child = nursery.start("train", settings, "--set", "training.steps=100000", "--out", out, faults=faults)
    child.wait_until(lambda: list(out.glob("checkpoints/step-*")))
    child.kill()
    child.wait()


def again(nursery: Nursery, settings: Path, out: Path, *faults: Sequence[object]) -> Finished:
    return nursery.run("train", settings, "--set", "training.steps=100000", "--out", out, faults=faults)


@pytest.mark.parametrize("how", CHANGES if LONG else ["lines appended", "removed"])
def test_resumed_afterwards(nursery: Nursery, tmp_path: Path, how: str):
    """Which file, how many pairs then and now, what it means, what can be done; nothing of the run is touched."""
    source, target = write_pairs(tmp_path)
    settings, out = write_settings(tmp_path, source, target), tmp_path / "run"
    killed(nursery, settings, out)
    before = tree(out)
    for path in (source, target):
        CHANGES[how](path)
    done = again(nursery, settings, out)
    if how in ("emptied", "removed"):
        is_a_sentence(done, str(source))
    else:
        is_a_sentence(done, "not the pairs that this run started with", str(source), str(target), " -> ")
        assert "belong to those pairs" in done.err and "--from-bundle" in done.err
    assert tree(out) == before


def test_one_file_of_two(nursery: Nursery, tmp_path: Path):
    source, target = write_pairs(tmp_path)
    settings, out = write_settings(tmp_path, source, target), tmp_path / "run"
    killed(nursery, settings, out)
    lines = target.read_text().splitlines()
    target.write_text("\n".join(["other words", *lines[1:]]) + "\n")
    is_a_sentence(again(nursery, settings, out), f"this run started with: {target} (60 -> 60 pairs)")


def test_a_corpus_with_a_name(nursery: Nursery, tmp_path: Path):
    """Its files are not named in the run file, so its texts tell."""
    data = tmp_path / "data/tatoeba-en-de"
    data.mkdir(parents=True)
    for split in ("train", "valid"):
        for path in write_pairs(tmp_path):
            (data / f"{split}{path.suffix}").write_text(path.read_text())
    settings, out = write_settings(tmp_path, *write_pairs(tmp_path)), tmp_path / "run"
    text = settings.read_text()
    start, end = text.index("source ="), text.index("held_out")
    settings.write_text(text[:start] + 'corpus = "tatoeba-en-de"\n' + text[end:].replace("held_out = 6\n", ""))
    place = ["environment", "OPENWORK_DATA", data.parent]
    killed(nursery, settings, out, place)
    lines = (data / "valid.de").read_text().splitlines()
    (data / "valid.de").write_text("\n".join(["other words", *lines[1:]]) + "\n")
    is_a_sentence(again(nursery, settings, out, place), "this run started with: tatoeba-en-de (valid) (60 -> 60 pairs)")


SECTIONS = [
    ("data.held_out=7", "belong to the pairs and batches of then"),
    ("batches.tokens=256", "belong to the pairs and batches of then"),
    ("model.width=32", "another has other weights"),
    ("training.learning_rate=0.1", "it would be another training"),
    ("decoding.beam=3", "could not be compared"),
]


@pytest.mark.parametrize(("assignment", "meaning"), SECTIONS)
def test_settings_that_have_changed(nursery: Nursery, half: Path, whole, assignment: str, meaning: str):
    done = nursery.run("train", whole.settings, "--out", half, "--set", assignment)
    key = assignment.split("=")[0]
    is_a_sentence(done, f"{key}: ", " -> ", meaning, "give the same settings")


def test_nothing_left_to_do(nursery: Nursery, half: Path, whole):
    whole.comes_to_the_same(half)
    before = tree(half)
    is_a_sentence(whole.start_again(half), "this run is finished, there is nothing left to do", "openwork translate")
    assert tree(half) == before


@pytest.mark.parametrize("how", ["lines appended", "replaced"])
def test_while_it_is_being_read(nursery: Nursery, whole, tmp_path: Path, how: str):
    """Between two readings of the same file: nobody could say what was learnt from."""
    source, target = write_pairs(tmp_path)
    settings, out = write_settings(tmp_path, source, target), tmp_path / "run"
    place = whole.operations.index("mkdir stores")
    new = shutil.copy(target, tmp_path / "new")
    CHANGES[how](Path(new))
    done = nursery.run(
        "train", settings, "--out", out, faults=[["at_operation", out, place, f"replace {target} by {new}"]]
    )
    changed = "train.de: the file has changed while it was being read"
    is_a_sentence(done, changed if how == "replaced" else "train.de has 61 lines")
    assert not (out / "checkpoints").exists() and not (out / "stores/train").exists()
    write_pairs(tmp_path)
    assert nursery.run("train", settings, "--out", out).code == 0
    for name in SAME:  # the pairs are those of `whole`, in other files
        assert (out / "bundle" / name).read_bytes() == (whole.bundle / name).read_bytes(), name
