"""`make soak` in short: its judgement by hand-made figures, its lines, and real processes for some seconds."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from soak.judging import LEAST, Moment, judge
from soak.lines import HOSTILE, blocks, lines
from soak.log import Log
from soak.sampling import Sample, look
from soak.training import Training
from soak.translating import Translating
from soak.work import watch

from interop.small_bundles import small_bundle
from journeys.command import PATIENCE, TINY
from openwork.bundles.bundle import write_bundle

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="memory and open files are read from /proc")


def moments(held: list[int], files: list[int] | None = None, threads: int = 3) -> list[Moment]:
    given = zip(held, files or [5] * len(held), strict=True)
    return [Moment(1, 10.0 * n, memory, 2 * memory, threads, count, 1, n) for n, (memory, count) in enumerate(given)]


def test_growth_in_the_warm_up_is_none_and_later_it_is() -> None:
    flat = judge(moments([100 * n for n in range(1, 11)] + [1000] * 40))
    assert flat is not None and flat.is_flat() and flat.growth == 0
    grown = judge(moments([1000] * 10 + [1000 + n for n in range(40)]))
    assert grown is not None and not grown.is_flat()
    assert grown.memory == (1002.0, 1037.0) and grown.growth == pytest.approx(0.035, rel=0.01)
    assert grown.per_hour == pytest.approx(360)  # a byte in ten seconds


def test_the_floor_is_what_is_held_between_two_batches() -> None:
    found = judge(moments([500] * 10 + [700, 900] * 10 + [710, 1100] * 10))  # ten of fifty are warm-up
    assert found is not None and found.floor == (700, 710)


def test_a_file_that_is_never_given_back_counts_and_a_passing_one_does_not() -> None:
    passing = judge(moments([1000] * 50, [5, 9] * 25))
    assert passing is not None and passing.is_flat()
    kept = judge(moments([1000] * 50, [5] * 40 + [6] * 10))
    assert kept is not None and kept.files == (5, 6) and not kept.is_flat()


def test_too_few_samples_are_no_judgement() -> None:
    assert judge(moments([1000] * (LEAST - 1))) is None and judge(moments([1000] * LEAST)) is not None


def test_a_stopped_soak_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Log(path).add(7.0, Sample(1, 2, 3, 4, 1), 9.0)
    with path.open("a") as file:
        file.write('{"sitting": 1, "sec')  # a stop in the midst of a line
    again = Log(path)
    again.add(3.0, Sample(1, 2, 3, 4, 1), 9.0)
    assert again.seconds == 10.0 and again.sitting == 2
    assert [json.loads(line)["sitting"] for line in path.read_text().splitlines()] == [1, 2]


def test_lines_are_lines_and_many_of_them_hostile() -> None:
    endless = lines(random.Random(1))
    drawn = [next(endless) for _ in range(3000)]
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in drawn)
    assert {line[:-1] for line in drawn} >= set(HOSTILE)
    assert next(blocks(random.Random(1))) == next(blocks(random.Random(1)))


@needs_proc
def test_a_look_counts_what_a_process_holds() -> None:
    code = "import sys; sys.stdin.readline(); kept = bytes(b'x') * 50_000_000; print(len(kept), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        before = look(process.pid)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        after = look(process.pid)
        process.stdin.write(b"\n")
        process.stdin.close()
    assert before is not None and after is not None
    assert 45e6 < after.held - before.held < 60e6
    assert (after.threads, after.processes, after.files) == (1, 1, 3)


@needs_proc
@pytest.mark.slow
@pytest.mark.long
def test_a_short_training_and_translating_hold_what_they_held(tmp_path: Path) -> None:
    """Some seconds cannot tell 2 %: here memory may grow by half, and threads and files not at all."""
    run = TINY.replace("steps = 12", "steps = 1000000\npatience = 1000000")
    write_bundle(tmp_path / "bundle", small_bundle(encoder_layers=1, decoder_layers=1))
    works = {
        "training": lambda: Training(tmp_path / "a", run),
        "translating": lambda: Translating(tmp_path / "b", tmp_path / "bundle", ["--beam", "2"], 1),
    }
    for name, begin in works.items():
        log = Log(tmp_path / f"{name}.jsonl")
        work = begin()
        until = time.monotonic() + PATIENCE
        while not work.done() and time.monotonic() < until:
            time.sleep(0.1)  # loading is no part of it
        watch(work, log, 8.0, 0.25)
        found = judge(log.moments)
        assert found is not None and found.is_flat(0.5), found
        assert found.done > log.moments[0].done
