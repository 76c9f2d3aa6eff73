"""Compiled updates: as those that are not, few forms for many shapes, names unchanged, and one line where it fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from openwork.models.build import build_model
from openwork.training.computing.choice import wants_compiling
from training.tiny import BATCH_NORMALISED, MODEL, VOCABULARY

PROGRAM = Path(__file__).with_name("compiled_training.py")


def trained(backend: str, layout: str, **environment: str) -> dict:
    """What the program reports; in a process of its own, without the checks that tests install."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), backend, layout],
        capture_output=True, text=True, check=True, env={**os.environ, **environment},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


WAITING = "compiling the layers, for which the first update waits"


def is_the_same(report: dict) -> bool:
    losses, expected = report["losses"]
    assert losses == pytest.approx(expected, abs=1e-4) and losses[0] - losses[-1] > 0.3
    return report["difference"] < 1e-4 and report["same names"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_what_is_traced_for_the_compiler_is_the_model(layout: str) -> None:
    report = trained("aot_eager", layout)  # all that a compiler is given, and no C++
    assert is_the_same(report)
    assert report["said"] == [WAITING]
    assert report["shapes"] >= 4 and 1 <= report["graphs"] <= 4  # of four layers, in two kinds
    assert report["graphs of a validation"] == 0
    assert report["lent for good"] == 0


@pytest.mark.slow
@pytest.mark.long
def test_compiled_updates_are_those_that_are_written() -> None:
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("compiling for a CPU needs a C++ compiler, and g++ is not here")
    report = trained("inductor", "padded")
    assert is_the_same(report) and report["said"] == [WAITING]


@pytest.mark.slow
@pytest.mark.long
def test_without_a_compiler_one_line_says_so_and_the_training_goes_on(tmp_path: Path) -> None:
    report = trained("inductor", "padded", CXX="/nowhere/c++", TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
    assert is_the_same(report) and report["difference"] == 0
    waiting, problem = report["said"]
    assert waiting == WAITING and problem.startswith("training without compiling: ")
    assert report["lent for good"] == 0


def test_auto_compiles_on_a_gpu_alone() -> None:
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    plain, batch_normalised = (build_model(settings, VOCABULARY, VOCABULARY) for settings in (MODEL, BATCH_NORMALISED))
    assert wants_compiling("auto", plain, gpu) and not wants_compiling("auto", plain, cpu)
    assert wants_compiling("on", plain, cpu) and not wants_compiling("off", plain, gpu)
    assert not wants_compiling("auto", batch_normalised, gpu)
    assert not wants_compiling("auto", plain, gpu, updates=1_999) and wants_compiling("on", plain, gpu, updates=1)
