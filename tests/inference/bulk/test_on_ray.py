"""openwork translate --on ray: the bytes of the single-machine command, whatever dies meanwhile."""

import contextlib
import gzip
import json
import lzma
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from journeys.command import PATIENCE, Finished, openwork, start
from openwork.data.corpora.synthetic import copy
from openwork.inference.bulk.record import NAME

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra scale"),
]
ON_RAY = ("--on", "ray", "--workers", "2")
REPORTING = ("ray::DashboardA", "ray::RuntimeEnv")  # two of Ray's own, which try for a minute to report an end


def outputs(out: Path) -> dict[str, bytes]:
    """The translations in a folder; no partial file may be among them."""
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name not in (NAME, ".translated.lock")}


def finished(out: Path) -> Counter[str]:
    """How many times the record says of each shard that it is finished."""
    if not (out / NAME).is_file():
        return Counter()
    records = [json.loads(line) for line in (out / NAME).read_text().split("\n")[:-1]]
    return Counter(record["name"] for record in records if record["kind"] == "finished")


def wait_until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Twelve shards of eighty lines."""
    lines = [pair.source for pair in copy("train", 960)]
    folder = tmp_path / "shards"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.txt").write_text("".join(f"{line}\n" for line in lines[number::12]))
    return folder


def translate(bundle: Path, shards: Path, out: Path, *options: str) -> Finished:
    return openwork("translate", bundle, "--source", shards, "--out", out, *options)


@pytest.mark.long
def test_both_ways_write_the_same_bytes(bundle_folder: Path, tmp_path: Path):
    """Of every kind of shard; a damaged one is named, and the exit code says so. Ray says nothing of its own."""
    lines = [pair.source for pair in copy("train", 90)]
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "a.txt").write_text("\n".join(lines))
    (folder / "b.txt.gz").write_bytes(gzip.compress("".join(f"{line}\r\n\r\n" for line in lines[:20]).encode()))
    (folder / "c.txt.xz").write_bytes(lzma.compress("你好 世界\n \n天气\n".encode()))
    (folder / "d.txt").touch()
    (folder / "e.txt.gz").write_bytes(gzip.compress(b"x y z\n" * 500)[:-9])
    if find_spec("pyarrow") is not None:
        import pyarrow
        import pyarrow.parquet as parquet

        parquet.write_table(pyarrow.table({"text": ["a b", None, "", "你好"], "n": [1, 2, 3, 4]}), folder / "f.parquet")
    alone = translate(bundle_folder, folder, tmp_path / "alone", "--best", "2", "--json")
    on_ray = translate(bundle_folder, folder, tmp_path / "ray", "--best", "2", "--json", *ON_RAY)
    for done in (alone, on_ray):
        report = json.loads(done.out)
        assert done.code == 3 and list(report["failed"]) == ["e.txt.gz"], done.err
        assert report["translated"] == report["shards"] - 1
        assert "error D133: 1 of" in done.err
    plain = [line for line in on_ray.err.splitlines() if not line.startswith("shards ")]
    assert plain == [line for line in alone.err.splitlines() if not line.startswith("shards ")]
    assert outputs(tmp_path / "ray") == outputs(tmp_path / "alone")
    assert finished(tmp_path / "ray") == finished(tmp_path / "alone")


def stopped_in_a_shard(out: Path, child: subprocess.Popen[bytes]) -> int:
    """A worker that is stopped while it writes a shard: the name of an unfinished file has its process."""
    found: list[int] = []

    def is_stopped() -> bool:
        assert child.poll() is None, child.communicate()
        for partial in out.glob(".*.partial"):
            process = int(partial.name.split(".")[-3])
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
                if partial.exists():
                    found.append(process)
                    return True
                os.kill(process, signal.SIGCONT)  # it was done meanwhile
        return False

    wait_until(is_stopped)
    return found[0]


@pytest.mark.long  # as a process's in test_run.py; `make distributed` has it
def test_a_killed_worker_loses_nothing(bundle_folder: Path, shards: Path, tmp_path: Path):
    alone, out = tmp_path / "alone", tmp_path / "out"
    assert translate(bundle_folder, shards, alone).code == 0
    child = start("translate", bundle_folder, "--source", shards, "--out", out, *ON_RAY)
    os.kill(stopped_in_a_shard(out, child), signal.SIGKILL)
    printed, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, errors
    assert printed.startswith(b"shards: 12 of 12 translated") and len(printed.splitlines()) == 2
    assert b"a worker of Ray died; another does its work" in errors
    assert outputs(out) == outputs(alone)
    assert finished(out) == finished(alone) == Counter(path.name for path in shards.iterdir())


@pytest.mark.long
def test_a_killed_driver_leaves_no_process_and_can_be_continued(bundle_folder: Path, shards: Path, tmp_path: Path):
    """The single-machine command goes on where Ray was: what was finished is not done again."""
    alone, out = tmp_path / "alone", tmp_path / "out"
    assert translate(bundle_folder, shards, alone).code == 0
    child = start("translate", bundle_folder, "--source", shards, "--out", out, *ON_RAY)
    wait_until(lambda: finished(out))
    worker = stopped_in_a_shard(out, child)
    descendants = psutil.Process(child.pid).children(recursive=True)
    ours = [process for process in descendants if not process.name().startswith(REPORTING)]
    assert len(ours) == len(descendants) - 2
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    os.kill(worker, signal.SIGCONT)
    _, alive = psutil.wait_procs(ours, timeout=PATIENCE)  # or a worker's partial file may stay behind the next command
    assert alive == []
    before = finished(out)
    assert 0 < len(before) < 12
    done = translate(bundle_folder, shards, out)
    assert done.code == 0, done.err
    assert f"shards: {12 - len(before)} of 12 translated, {len(before)} kept" in done.out.decode()
    assert finished(out) == finished(alone)
    assert outputs(out) == outputs(alone)


@pytest.mark.long
def test_ctrl_c_ends_ray_too(bundle_folder: Path, shards: Path, tmp_path: Path):
    out = tmp_path / "out"
    child = start("translate", bundle_folder, "--source", shards, "--out", out, *ON_RAY)
    worker = stopped_in_a_shard(out, child)
    descendants = psutil.Process(child.pid).children(recursive=True)
    child.send_signal(signal.SIGINT)
    os.kill(worker, signal.SIGCONT)
    printed, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130 and printed == b"", errors
    assert [line for line in errors.splitlines() if not line.startswith(b"shards ")] == [b"interrupted"]
    _, alive = psutil.wait_procs(descendants, timeout=PATIENCE)
    assert alive == []
