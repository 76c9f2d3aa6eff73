"""A run of a second from two files, its undisturbed end, and how a disturbed one is brought to the same."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from faults.nursery import Nursery
from journeys.command import ERROR, TINY, Finished, run_file
from openwork.data.corpora.synthetic import copy

LONG = os.environ.get("OPENWORK_FAULTS") == "long"
"""Whether everything is tried, as `make faults` does, or a few of each kind."""
PATIENCE = 7200 if LONG else 1800
"""Seconds for a test, some of which disturb a run at each of its hundred operations on files, on a slow machine too."""

SMALL = {"steps": 6, "validate_every": 3, "validation_sentences": 2, "average": 2, "log_every": 1, "warmup": 4}
SAME = ("weights.safetensors", "tokenizer.json", "config.toml", "golden.json")
AGAIN = "run the same command again"


@dataclass
class Undisturbed:
    """What the run comes to when nobody disturbs it, and what it does to its folder on the way."""

    nursery: Nursery
    folder: Path
    settings: Path
    bundle: Path
    operations: Sequence[str]

    def start_again(self, out: Path, *faults: Sequence[Any]) -> Finished:
        """Begins the same run in another folder, or goes on with it there."""
        return self.nursery.run("train", self.settings, "--out", out, faults=faults)

    def comes_to_the_same(self, out: Path) -> Finished:
        """The same command, now undisturbed, ends with the very bundle."""
        done = self.start_again(out)
        assert done.code == 0, done.err
        self.is_the_same(out)
        assert not [path for path in out.rglob("*") if path.name.endswith((".partial", ".old"))]
        return done

    def is_the_same(self, out: Path) -> None:
        for name in SAME:
            assert (out / "bundle" / name).read_bytes() == (self.bundle / name).read_bytes(), name


def write_pairs(folder: Path, count: int = 60) -> tuple[Path, Path]:
    source, target = folder / "train.en", folder / "train.de"
    pairs = list(copy("train", count, seed=5))
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    target.write_text("".join(f"{pair.target}\n" for pair in pairs), encoding="utf-8")
    return source, target


def write_settings(folder: Path, source: Path, target: Path, **changes: object) -> Path:
    data = f"source = '''{source}'''\ntarget = '''{target}'''\nheld_out = 6"
    return run_file(folder, TINY.replace('corpus = "copy"\ncount = 120', data), **{**SMALL, **changes})


def undisturbed(nursery: Nursery, folder: Path) -> Undisturbed:
    settings = write_settings(folder, *write_pairs(folder))
    out, log = folder / "whole", folder / "operations"
    done = nursery.run("train", settings, "--out", out, faults=[["note_operations", out, log]])
    assert done.code == 0, done.err
    shutil.copytree(out / "bundle", folder / "bundle")
    return Undisturbed(nursery, folder, settings, folder / "bundle", log.read_text().splitlines())


def is_a_sentence(done: Finished, *words: str) -> str:
    """A failure told in a sentence: no traceback, no mistake of ours."""
    assert done.code > 0, f"{done.code}: {done.err}"
    assert "Traceback" not in done.err and "bug in openwork" not in done.err, done.err
    assert ERROR.search(done.err), done.err
    for word in words:
        assert word in done.err, f"{word!r} is not in:\n{done.err}"
    return done.err


def some(total: int, few: int, seed: int = 7) -> list[int]:
    """All numbers below `total` if everything is tried, else a few of them from all over, the same each time."""
    if LONG or total <= few:
        return list(range(total))
    chance = Random(seed)
    return [chance.randrange(part * total // few, (part + 1) * total // few) for part in range(few)]
