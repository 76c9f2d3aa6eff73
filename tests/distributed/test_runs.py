"""Whole runs by the command line on several processes: the same training, continued on any number, killed anywhere.

`make distributed` kills twenty times; the whole suite twice.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
import torch

from distributed.starting import Ended, ended, environment, start
from openwork.training.checkpoint import checkpoints, load_weights

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("OPENWORK_KILLS", "2"))
SET = {
    "data.count": 400, "model.dropout": 0.1, "training.schedule": "constant", "training.warmup": 1,
    "training.cooldown": 0, "training.learning_rate": 0.002, "training.validate_every": 4, "training.average": 1,
    "training.validation_sentences": 20, "training.workers": 4, "training.precision": "float32",
}  # fmt: skip


def options(**changes: object) -> list[str]:
    settings = {**SET, **{f"training.{key}": value for key, value in changes.items()}}
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def run(*words: str | Path, timeout: float = 900) -> Ended:
    """A command of openwork, or of what starts it."""
    command = [sys.executable, "-m", *map(str, words)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=timeout)
    return Ended(done.returncode, done.stdout, done.stderr)


def train(out: Path, *words: str | Path) -> Ended:
    found = run("openwork", "train", *words, "--out", out)
    assert found.code == 0, found.err
    return found


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


@pytest.mark.parametrize("sharding", ["none", "optimiser", "full"])
def test_two_processes_make_the_run_of_one(tmp_path: Path, alone: Path, sharding: str) -> None:
    found = train(tmp_path / "two", "copy", *options(steps=12, sharding=sharding), "--processes", "2")
    assert difference(alone, tmp_path / "two") <= 1e-6
    assert found.err.count("done: the translator is") == 1  # one process reports
    one, two = (records(folder, "validation")[-1] for folder in (alone, tmp_path / "two"))
    assert two["loss"] == pytest.approx(one["loss"], abs=1e-5) and two["bleu"] == one["bleu"]
    assert records(tmp_path / "two", "run")[0]["processes"] == 2
    answers = [
        subprocess.run(
            [sys.executable, "-m", "openwork", "translate", str(folder)], input="a b c\nd e\n", env=environment(),
            capture_output=True, text=True, check=True,
        ).stdout
        for folder in (alone, tmp_path / "two")
    ]  # fmt: skip
    assert answers[0] == answers[1] and answers[0].count("\n") == 2


@pytest.mark.parametrize("sharding", ["optimiser", "full"])
def test_what_four_began_one_and_two_continue(tmp_path: Path, alone: Path, sharding: str) -> None:
    """Four processes by torchrun, then one, then two: as one from the beginning to the end."""
    out, torchrun = tmp_path / "run", ("torch.distributed.run", "--nproc-per-node", "4", "-m", "openwork")
    first = run(*torchrun, "train", "copy", *options(steps=4, sharding=sharding), "--out", out)
    assert first.code == 0, first.err
    assert len(list(checkpoints(out / "checkpoints")[-1].glob("shard-*"))) == 4
    assert run("openwork", "train", out, "--steps", "6").code == 0
    assert not list(checkpoints(out / "checkpoints")[-1].glob("shard-*"))
    assert run("openwork", "train", out, "--steps", "12", "--processes", "2").code == 0
    assert difference(alone, out) <= 2e-6


def killed_at_random(command: Sequence[str], folder: Path, kills: int) -> tuple[int, str]:
    """The exit code, and what was written, of a command whose processes are killed one by one at random moments."""
    launcher = subprocess.Popen(
        [sys.executable, "-m", *command],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    said: list[str] = []
    assert launcher.stderr is not None
    reader = threading.Thread(target=lambda stream: said.extend(stream), args=(launcher.stderr,), daemon=True)
    reader.start()
    choose, killed, written = random.Random(kills), set[int](), checkpoints(folder / "checkpoints")
    while len(killed) < kills and launcher.poll() is None:
        if checkpoints(folder / "checkpoints") == written:  # so that the training gets on between two kills
            time.sleep(0.05)
            continue
        time.sleep(choose.uniform(0.0, 1.0))
        try:
            children = [child for child in psutil.Process(launcher.pid).children() if child.pid not in killed]
        except psutil.NoSuchProcess:
            break
        if children:
            victim = choose.choice(children)
            killed.add(victim.pid)
            victim.kill()
            _wait_for_a_restart(launcher, killed)
            written = checkpoints(folder / "checkpoints")
    code = launcher.wait(900)
    reader.join(60)
    assert len(killed) == kills
    return code, "".join(said)


def _wait_for_a_restart(launcher: subprocess.Popen[str], killed: set[int]) -> None:
    while launcher.poll() is None and any(psutil.pid_exists(pid) and _is_running(pid) for pid in killed):
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("way", ["torchrun", "forked"] if KILLS > 2 else ["torchrun"])
def test_kills_change_nothing(tmp_path: Path, way: str) -> None:
    """The processes are started again, and the weights are to the bit those of an undisturbed training.

    Most kills do without torchrun's own command, which takes ten seconds for each start.
    """
    kills = KILLS - 2 if way == "forked" else 2
    sharding = "full" if way == "forked" else "optimiser"
    settings = options(
        steps=30 * kills, sharding=sharding, validate_every=5, validation_sentences=0, metric="loss", workers=2,
        patience=1000,
    )  # fmt: skip
    settings += ["--set", "batches.tokens=128"]
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    train(calm, "copy", *settings, "--processes", "2")
    launcher = {
        "torchrun": ["torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", str(kills), "-m", "openwork"],
        "forked": ["distributed.forked", str(kills)],
    }[way]
    code, said = killed_at_random([*launcher, "train", "copy", *settings, "--out", str(disturbed)], disturbed, kills)
    assert code == 0, said
    assert difference(calm, disturbed) == 0.0
    assert said.count("continuing after update") <= kills


@pytest.mark.parametrize(("rank", "sentence"), [(1, "process 1 of 2 has ended"), (0, "has ended")])
def test_the_end_of_one_is_that_of_all_within_half_a_minute(tmp_path: Path, rank: int, sentence: str) -> None:
    """Without torchrun, where the store of all is in the first process."""
    out = tmp_path / "run"
    processes = start(2, ["openwork", "train", "copy", *options(steps=100000), "--out", str(out)])
    until = time.monotonic() + 300
    while not checkpoints(out / "checkpoints"):
        assert time.monotonic() < until and all(one.poll() is None for one in processes)
        time.sleep(0.1)
    processes[rank].kill()
    begin = time.monotonic()
    left = ended(processes)[1 - rank]
    assert left.code == 1 and left.err.count("error E03") == 1 and sentence in left.err
    assert time.monotonic() - begin < 120  # half a minute on a machine with nothing else to do
    assert "the same command continues the run" in left.err


def test_other_settings_end_all_with_one_sentence(tmp_path: Path) -> None:
    first = start(2, ["openwork", "train", "copy", *options(steps=4), "--out", str(tmp_path / "run")])
    first[1].kill()
    first[1].wait()
    # the second process of the same meeting, with another run file
    port = first[0]
    command = psutil.Process(port.pid).environ()
    second = subprocess.Popen(
        [sys.executable, "-m", "openwork", "train", "copy", *options(steps=5), "--out", str(tmp_path / "run")],
        env={**command, "RANK": "1", "LOCAL_RANK": "0"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    found = ended([first[0], second])
    assert {one.code for one in found} == {3}
    said = "".join(one.err for one in found)
    assert said.count("error C109") == 1 and "process 1 of 2 has another run file: training.steps: 4 -> 5" in said
    assert not (tmp_path / "run").exists()


def test_an_interruption_saves_once(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "openwork", "train", "copy", *options(steps=100000), "--out", str(out)]
    launcher = subprocess.Popen(
        [*command, "--processes", "2"], env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True,
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
