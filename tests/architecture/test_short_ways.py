"""How many functions of ours stand between a command and the mathematics: read from a real stack."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from openwork.inference.prepared.native import problem

PROGRAM = """
import os, sys, traceback
from openwork.cli.main import main
from {module} import {name} as Owner

sound = Owner.{method}

def counted(*given, **named):
    ours = [frame for frame in traceback.extract_stack() if "/src/openwork/" in frame.filename]
    if any(frame.filename.endswith("{through}") for frame in ours):
        print("way:", *(frame.name for frame in ours))
        sys.stdout.flush()
        os._exit(0)
    return sound(*given, **named)

Owner.{method} = counted
sys.argv = ["openwork", *{arguments!r}]
main()
"""


def way(module: str, name: str, method: str, through: str, *arguments: str | Path) -> list[str]:
    """The names of our functions from the command to the first call of a method that comes through a file."""
    given = [str(argument) for argument in arguments]
    program = PROGRAM.format(module=module, name=name, method=method, through=through, arguments=given)
    done = subprocess.run([sys.executable, "-c", program], input="a b c\n", capture_output=True, text=True, timeout=900)
    lines = [line for line in done.stdout.splitlines() if line.startswith("way: ")]
    assert lines, done.stderr
    return lines[0].split()[1:]


def test_from_the_command_to_an_update(tmp_path: Path, counted: Callable[[str], None]) -> None:
    sizes = ("data.count=60", "training.steps=2", "model.width=16", "text.vocabulary_size=400")
    settings = [part for size in sizes for part in ("--set", size)]
    train = ("train", "--corpus", "copy", "--out", tmp_path / "run", *settings)
    found = way("openwork.training.step", "Updater", "update", "training/loop.py", *train)
    counted(f"{len(found)} functions before an update: {' '.join(found)}")
    assert len(found) <= 9, found


def test_from_the_command_to_a_step_of_the_model(bundle_folder: Path, counted: Callable[[str], None]) -> None:
    translate = ("translate", "--bundle", bundle_folder)
    place = ("openwork.inference.prepared.native.sentence", "NativeContinuations", "extend", "decoding/lone.py")
    if problem():
        place = ("openwork.decoding.lone", "SteppedContinuations", "extend", "decoding/lone.py")
    found = way(*place, *translate)
    counted(f"{len(found)} functions before a step: {' '.join(found)}")
    assert len(found) <= 9, found
