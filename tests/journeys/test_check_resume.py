"""The user's own training, killed and restarted before their eyes."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from calling import Call
from faults.nursery import Nursery
from openwork.runs.check_resume import StateDifference, _apart, resume_lines

pytestmark = pytest.mark.slow

RUN = """
[data]
corpus = "copy"
[text]
vocabulary_size = 300
[batches]
tokens = 256
[model]
width = 16
heads = 2
feedforward_width = 16
encoder_layers = 1
decoder_layers = 1
[training]
warmup = 10
steps = {steps}
{more}
"""


# The plain run has nothing that the other one has not.
@pytest.mark.parametrize(
    "more", [pytest.param("", marks=pytest.mark.long), 'ema = 0.9\nworkers = 2\nprecision = "bfloat16"']
)
def test_a_training_that_is_killed_goes_on_exactly(nursery: Nursery, tmp_path: Path, more: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(RUN.format(steps=50, more=more))
    done = nursery.run("train", file, "--check-resume")
    assert done.code == 0, done.err
    said = done.out.decode()
    assert said.count("the same, bit for bit") == (5 if more else 4) and "as if nothing had happened" in said
    assert "killed; restarting at the checkpoint of update 3" in done.err


def test_a_run_that_cannot_be_checked_says_why(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text(RUN.format(steps=6, more=""))
    short = call("train", file, "--check-resume")
    assert short.code == 3 and "too few to stop and go on" in short.err
    both = call("train", file, "--check-resume", "--plan")
    assert both.code == 2 and "different answers" in both.err
    file.write_text(RUN.format(steps=50, more="").replace('corpus = "copy"', 'source = "no.en"\ntarget = "no.de"'))
    missing = call("train", file, "--check-resume")
    assert missing.code == 1 and "ended before update 6" in missing.err and "no.en" in missing.err


def test_what_differs_is_said(tmp_path: Path) -> None:
    one = {"a": torch.tensor([1.0, -4.0]), "b": torch.zeros(2)}
    for name, tensors in (
        ("one", one), ("same", one), ("other", {**one, "a": torch.tensor([1.0, -3.0])}), ("less", {"a": one["a"]}),
    ):  # fmt: skip
        save_file(tensors, tmp_path / name)
    found = [_apart(tmp_path / "one", tmp_path / name) for name in ("same", "other", "less")]
    assert found == [0.0, 0.25, float("inf")]
    lines = list(resume_lines([StateDifference("weights", 0.25, 0.0), StateDifference("losses", 1e-5, 1e-3)]))
    assert lines[0] == "weights: NOT the same, apart by 2.5e-01 of the greatest number"
    assert lines[1] == "losses: apart by 1.0e-05 of the greatest number; up to 1e-03 is rounding"
    assert "would become another one" in lines[2]
