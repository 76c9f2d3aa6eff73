"""Files cut short or with a flipped bit: found, told, and mended where the run has what it takes."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from faults.nursery import Nursery
from faults.runs import LONG, PATIENCE, Undisturbed, is_a_sentence

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE)]
TIMES = 40 if LONG else 1  # for each file


def flip(path: Path, chance: Random) -> str:
    data = bytearray(path.read_bytes())
    place, bit = chance.randrange(len(data)), chance.randrange(8)
    data[place] ^= 1 << bit
    path.write_bytes(data)
    return f"{path.name}: bit {bit} of byte {place}"


def cut(path: Path, chance: Random) -> str:
    length = chance.randrange(path.stat().st_size)
    with path.open("r+b") as file:
        file.truncate(length)
    return f"{path.name}: cut after {length} bytes"


def damages(folder: Path, names: list[str], seed: int) -> Iterator[str]:
    """Spoils a file, tells how, and puts it right again: each file in both ways."""
    chance = Random(seed)
    for name in names:
        for number in range(TIMES):
            path = folder / name
            good = path.read_bytes()
            yield (flip if (number + len(name)) % 2 else cut)(path, chance)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(good)


CHECKPOINT = ["weights.safetensors", "optimiser.safetensors", "state.json"]


def test_checkpoint(whole: Undisturbed, half_run: Path, tmp_path: Path):
    """The one before is used, which is said, and the end is the same."""
    spoilt, run = shutil.copytree(half_run, tmp_path / "spoilt"), tmp_path / "run"
    for how in damages(spoilt / "checkpoints/step-00000006", CHECKPOINT, 1):
        shutil.copytree(spoilt, run)
        done = whole.comes_to_the_same(run)
        if "state.json: bit" not in how or "passed over" in done.err:  # a flip within white space changes nothing
            assert "passed over a damaged checkpoint" in done.err and "continuing after update 3" in done.err, how
        shutil.rmtree(run)


def test_every_checkpoint(whole: Undisturbed, half: Path):
    for path in (half / "checkpoints").glob("step-*"):
        cut(path / "weights.safetensors", Random(1))
    is_a_sentence(whole.start_again(half), "weights.safetensors is damaged", "delete this folder")


def test_checkpoint_that_a_mean_needs(whole: Undisturbed, half: Path):
    """A training of hours does not fail at its end for one of the checkpoints that might have been averaged."""
    flip(half / "checkpoints/step-00000003/weights.safetensors", Random(1))
    done = whole.start_again(half)
    assert done.code == 0, done.err
    assert "passed over a damaged checkpoint" in done.err and "continuing after update 6" in done.err
    assert (half / "bundle/bundle.json").is_file()


BUNDLE = ["weights.safetensors", "tokenizer.json", "config.toml", "golden.json", "card.md", "bundle.json"]


def test_bundle(nursery: Nursery, whole: Undisturbed, tmp_path: Path):
    bundle = shutil.copytree(whole.bundle, tmp_path / "bundle")
    right = nursery.run("translate", "--bundle", bundle, stdin=b"a b\n").out
    for how in damages(bundle, BUNDLE, 2):
        done = nursery.run("translate", "--bundle", bundle, stdin=b"a b\n")
        if "bundle.json: bit" in how and done.code == 0:  # white space, or the name of the version that wrote it
            assert done.out == right
        else:
            is_a_sentence(done, str(bundle))
            assert done.code == 4 and done.out == b"", how


STORES = [f"{part}/{side}.{kind}" for part in ("train", "valid") for side in ("source", "target")
          for kind in ("tokens", "offsets")]  # fmt: skip


def test_store(whole: Undisturbed, half_run: Path, tmp_path: Path):
    """A flipped bit would be another word to learn from: the store is made again, which is said."""
    spoilt, run = shutil.copytree(half_run, tmp_path / "spoilt"), tmp_path / "run"
    names = STORES if LONG else ["train/target.tokens", "valid/source.offsets"]
    for how in damages(spoilt / "stores", [*names, "train/header.json"], 3):
        shutil.copytree(spoilt, run)
        done = whole.start_again(run)
        if "header.json: bit" in how and "not the pairs" in done.err:  # of the digit that tells pairs from pairs
            is_a_sentence(done, "hint:")
        else:
            whole.is_the_same(run)
            assert "the token store is damaged" in done.err or "header.json" in how, how
        shutil.rmtree(run)


def test_vocabulary(whole: Undisturbed, half_run: Path, tmp_path: Path):
    """Other pieces under the same numbers would be another language: it is learnt again from the same data."""
    spoilt, run = shutil.copytree(half_run, tmp_path / "spoilt"), tmp_path / "run"
    for how in damages(spoilt / "tokenizers", ["tokenizer.json"], 4):
        shutil.copytree(spoilt, run)
        done = whole.comes_to_the_same(run)
        assert "the vocabulary is damaged" in done.err or "bit" in how, how
        shutil.rmtree(run)
    text = (spoilt / "tokenizers/tokenizer.json").read_text()
    assert text.count('"d"') >= 1
    (spoilt / "tokenizers/tokenizer.json").write_text(text.replace('"d"', '"é"'))  # whole JSON, other pieces
    assert "the vocabulary is damaged" in whole.comes_to_the_same(spoilt).err


def test_run_file_and_notes(whole: Undisturbed, half_run: Path, tmp_path: Path):
    """A damaged `run.toml` is refused unless it still says the same; a damaged note of the data's origin is no loss."""
    spoilt, run = shutil.copytree(half_run, tmp_path / "spoilt"), tmp_path / "run"
    for how in damages(spoilt, ["run.toml", "stores/origins.json"], 5):
        shutil.copytree(spoilt, run)
        done = whole.start_again(run)
        if "origins.json" in how or done.code == 0:
            whole.is_the_same(run)
        else:
            is_a_sentence(done)
        shutil.rmtree(run)


def test_run_file_that_is_lost(whole: Undisturbed, half: Path):
    (half / "run.toml").unlink()
    is_a_sentence(whole.start_again(half), "has lost its run.toml", "hint:")


def test_records(whole: Undisturbed, half_run: Path, tmp_path: Path):
    """Half a line at the end is cut off when the run goes on; the training needs none of them."""
    spoilt, run = shutil.copytree(half_run, tmp_path / "spoilt"), tmp_path / "run"
    for _ in damages(spoilt, ["records.jsonl"], 6):
        shutil.copytree(spoilt, run)
        whole.comes_to_the_same(run)
        assert (run / "records.jsonl").read_bytes().endswith(b"\n")
        shutil.rmtree(run)
