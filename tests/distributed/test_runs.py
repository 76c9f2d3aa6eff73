"""Whole runs by the command line on several processes: the same training, continued on any number, killed anywhere.

`make distributed` kills twenty times; the whole suite twice.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import openwork
from distributed.starting import LONGEST, Ended, Forked, ended, environment, start
from openwork.training.checkpoint import checkpoints, load_weights

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("OPENWORK_KILLS", "2"))
SET = {
    "data.count": 400, "model.dropout": 0.1, "training.schedule": "constant", "training.warmup": 1,
    "training.cooldown": 0, "training.learning_rate": 0.002, "training.validate_every": 4, "training.average": 1,
    # with 1 a unit is so near to zero that the order of sums decides whether it is rectified
    "training.seed": 2,
    "training.validation_sentences": 20, "training.workers": 4, "training.precision": "float32",
}  # fmt: skip


def options(**changes: object) -> list[str]:
    settings = {**SET, **{f"training.{key}": value for key, value in changes.items()}}
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def run(*words: str | Path, processes: int = 1) -> Ended:
    """`openwork WORDS` in so many processes: what the first one wrote. All must succeed."""
    command = ["openwork", *map(str, words)]
    every = ended(start(processes, command) if processes > 1 else [Forked(command, environment())])
    assert {one.code for one in every} == {0}, [one.err for one in every]
    assert [one.err for one in every[1:]] == [""] * (processes - 1)  # one process reports
    return every[0]


def train(out: Path, *words: str | Path, processes: int = 1) -> Ended:
    return run("train", *words, "--out", out, processes=processes)


def by_command(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    """`python -m WORDS` as a user starts it."""
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True, **options)


def last_weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_weights(checkpoints(folder / "checkpoints")[-1])


def difference(one: Path, other: Path) -> float:
    a, b = last_weights(one), last_weights(other)
    assert a.keys() == b.keys()
    return max(float((a[name] - b[name]).abs().max()) for name in a)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve updates on one process, with dropout, in four parts."""
    out = tmp_path_factory.mktemp("alone") / "run"
    train(out, "copy", *options(steps=12))
    return out


def records(folder: Path, kind: str) -> list[dict]:
    lines = (folder / "records.jsonl").read_text("utf-8").splitlines()
    return [one for one in map(json.loads, lines) if one["kind"] == kind]


@pytest.mark.parametrize("sharding", ["none", pytest.param("optimiser", marks=pytest.mark.long), "full"])
def test_two_processes_make_the_run_of_one(tmp_path: Path, alone: Path, sharding: str) -> None:
    out = tmp_path / "two"
    words = ("copy", *options(steps=12, sharding=sharding))
    if sharding == "none":  # by the option, which starts them
        _, said = by_command("openwork", "train", *words, "--out", out, "--processes", "2").communicate(timeout=LONGEST)
    else:
        said = train(out, *words, processes=2).err
    assert said.count("done: the translator is") == 1
    assert difference(alone, out) <= 1e-6
    one, two = (records(folder, "validation")[-1] for folder in (alone, out))
    assert two["loss"] == pytest.approx(one["loss"], abs=1e-5) and two["bleu"] == one["bleu"]
    assert records(out, "run")[0]["processes"] == 2
    answers = [openwork.load(folder).translate(["a b c", "d e"]) for folder in (alone, out)]
    assert list(map(str, answers[0])) == list(map(str, answers[1])) and len(answers[0]) == 2


@pytest.mark.parametrize("sharding", ["optimiser", pytest.param("full", marks=pytest.mark.long)])
def test_what_four_began_one_and_two_continue(tmp_path: Path, alone: Path, sharding: str) -> None:
    """Four processes, then one, then two: as one from the beginning to the end."""
    out = tmp_path / "run"
    train(out, "copy", *options(steps=4, sharding=sharding), processes=4)
    assert len(list(checkpoints(out / "checkpoints")[-1].glob("shard-*"))) == 4
    run("train", out, "--steps", "6")
    assert not list(checkpoints(out / "checkpoints")[-1].glob("shard-*"))
    run("train", out, "--steps", "12", processes=2)
    assert difference(alone, out) <= 2e-6


def killed_at_random(launcher: psutil.Process, folder: Path, kills: int) -> None:
    """Kills the processes of a launcher one by one, each at a random moment after a new checkpoint; then ends all."""
    choose, written = random.Random(kills), checkpoints(folder / "checkpoints")
    for kill in range(kills + 1):
        while checkpoints(folder / "checkpoints") == written:  # so that the training gets on between two kills
            assert _is_alive(launcher)
            time.sleep(0.02)
        if kill == kills:
            launcher.terminate()
            return
        time.sleep(choose.uniform(0.0, 0.5))
        victim = choose.choice(launcher.children())
        victim.kill()
        while _is_alive(victim):
            time.sleep(0.02)
        written = checkpoints(folder / "checkpoints")


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("way", [pytest.param("torchrun", marks=pytest.mark.long), "forked"])
def test_kills_change_nothing(tmp_path: Path, way: str) -> None:
    """The processes are started again, and the weights are to the bit those of an undisturbed training.

    All kills but one do without torchrun's own command, which takes ten seconds for each start.
    """
    kills = KILLS - 1 if way == "forked" else 1
    settings = options(
        sharding="full" if way == "forked" else "optimiser", validate_every=4, validation_sentences=0, metric="loss",
        workers=2, patience=100000,
    )  # fmt: skip
    settings += ["--set", "batches.tokens=128"]
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    words = ["train", "copy", *settings, "--set", "training.steps=100000", "--out", str(disturbed)]
    if way == "forked":
        launcher = Forked(["distributed.forked", str(kills), *words], environment())
        killed_at_random(psutil.Process(launcher.pid), disturbed, kills)
        said = launcher.ended().err
    else:
        torchrun = ("torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", str(kills), "-m", "openwork")
        launcher = by_command(*torchrun, *words)
        killed_at_random(psutil.Process(launcher.pid), disturbed, kills)
        said = launcher.communicate(timeout=LONGEST)[1]
    assert 1 <= said.count("continuing after update") <= kills, said
    assert said.count("to continue, run the same command again") == 1, said
    steps = max(record["step"] for record in records(disturbed, "finished"))
    train(calm, "copy", *settings, "--set", f"training.steps={steps}", processes=2)
    assert difference(calm, disturbed) == 0.0


@pytest.mark.parametrize(
    ("rank", "sentence"), [pytest.param(1, "process 1 of 2 has ended", marks=pytest.mark.long), (0, "has ended")]
)
def test_the_end_of_one_is_that_of_all_within_half_a_minute(tmp_path: Path, rank: int, sentence: str) -> None:
    """Without torchrun, where the store of all is in the first process."""
    out = tmp_path / "run"
    processes = start(2, ["openwork", "train", "copy", *options(steps=100000), "--out", str(out)])
    until = time.monotonic() + 300
    while not checkpoints(out / "checkpoints"):
        assert time.monotonic() < until and all(one.is_running for one in processes)
        time.sleep(0.1)
    processes[rank].kill()
    begin = time.monotonic()
    left = ended(processes)[1 - rank]
    assert left.code == 1 and left.err.count("error E03") == 1 and sentence in left.err
    assert time.monotonic() - begin < 120  # half a minute on a machine with nothing else to do
    assert "the same command continues the run" in left.err


def test_other_settings_end_all_with_one_sentence(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    first, unfit = start(2, ["openwork", "train", "copy", *options(steps=4), "--out", out])
    unfit.kill()
    # the second process of the same meeting, with another run file
    second = Forked(["openwork", "train", "copy", *options(steps=5), "--out", out], unfit.variables)
    found = ended([first, second])
    assert {one.code for one in found} == {3}
    said = "".join(one.err for one in found)
    assert said.count("error C109") == 1 and "process 1 of 2 has another run file: training.steps: 4 -> 5" in said
    assert not (tmp_path / "run").exists()


def test_an_interruption_saves_once(tmp_path: Path) -> None:
    out = tmp_path / "run"
    launcher = by_command(
        "openwork", "train", "copy", *options(steps=100000), "--out", out, "--processes", "2", start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    until = time.monotonic() + 300
    while not checkpoints(out / "checkpoints"):
        assert time.monotonic() < until and launcher.poll() is None
        time.sleep(0.1)
    launcher.send_signal(signal.SIGINT)
    _, said = launcher.communicate(timeout=300)
    assert launcher.returncode == 130 and said.count("to continue, run the same command again") == 1
    assert records(out, "finished")[-1]["reason"] == "interrupted"
