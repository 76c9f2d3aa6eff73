"""The translation of a folder: order, continuation, report; the workers are this process, or the test's."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from inference.bulk.folders import CAPITALS, TEXTS, capitals, plain, write_shards
from openwork.base.errors import DataError, OpenworkError
from openwork.inference.bulk.record import open_record
from openwork.inference.bulk.run import BulkReport, translate_shards
from openwork.inference.bulk.shards import find_shards
from openwork.inference.bulk.work import ShardTask
from openwork.machine.pool import OneProcess, Pool, Results


class Backwards:
    """Workers that finish the last item first; those at `deadly` shards die."""

    def __init__(self, *deadly: str) -> None:
        self.deadly = deadly

    def run(self, start: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Results[Any, Any]:
        work = start()
        for item in reversed(items):
            dies = item.shard.name in self.deadly
            yield item, OpenworkError("3 workers died at it", why="no memory", code="E041") if dies else work(item)


class Killed:
    """Dies after so many items, like a process that is killed."""

    def __init__(self, after: int) -> None:
        self.after = after

    def run(self, start: Callable[[], Callable[[Any], Any]], items: Sequence[Any]) -> Results[Any, Any]:
        work = start()
        for item in items[: self.after]:
            yield item, work(item)
        work(items[self.after])  # its file is there, but no line in the record
        raise KeyboardInterrupt


def run(tmp_path: Path, pool: Pool, seen: list[str], told: list[str] | None = None) -> BulkReport:
    """Translates the folder `in`."""
    found = find_shards(tmp_path / "in", tmp_path / "out")
    with open_record(tmp_path / "out", [tmp_path / "in"]) as record:
        record.plan({}, found.shards)
        report = (told if told is not None else []).append
        return translate_shards(found.shards, record, lambda: capitals(seen), pool, report)


@pytest.mark.parametrize("pool", [OneProcess(), Backwards()], ids=["in turn", "backwards"])
def test_every_shard_is_translated_once(tmp_path: Path, pool: Pool):
    """The report has the order of the names, whatever was finished first."""
    write_shards(tmp_path / "in")
    seen: list[str] = []
    report = run(tmp_path, pool, seen)
    assert {name: plain(tmp_path / "out" / name) for name in TEXTS} == CAPITALS
    assert [result.name for result in report.results] == sorted(TEXTS)
    assert sorted(seen) == sorted(["one", "two", "three", "", "four", "你好", "  ", "five"])
    values = report.to_json()
    assert values["shards"] == values["translated"] == 4 and values["lines"] == 8 and values["failed"] == {}
    report.check()


def test_a_second_call_does_nothing(tmp_path: Path):
    write_shards(tmp_path / "in")
    run(tmp_path, OneProcess(), [])
    seen: list[str] = []
    report = run(tmp_path, Backwards(), seen)
    assert seen == [] and report.to_json()["kept"] == 4 and report.to_json()["lines"] == 0
    assert next(iter(report.lines())) == "shards: 0 of 4 translated, 4 kept from before, 0 failed"


@pytest.mark.parametrize("after", range(4))
def test_a_killed_call_goes_on(tmp_path: Path, after: int):
    """What was finished stays; the shard without a line in the record is done again, as its files are ours."""
    write_shards(tmp_path / "in")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Killed(after), [])
    report = run(tmp_path, OneProcess(), [])
    assert report.to_json()["kept"] == after and report.to_json()["translated"] == 4 - after
    assert {name: plain(tmp_path / "out" / name) for name in TEXTS} == CAPITALS


def test_a_bad_shard_is_named_and_the_others_are_done(tmp_path: Path):
    write_shards(tmp_path / "in", {**TEXTS, "b.txt.gz": TEXTS["b.txt.gz"][:-4]})
    report = run(tmp_path, OneProcess(), [])
    assert not (tmp_path / "out" / "b.txt.gz").exists()
    assert plain(tmp_path / "out" / "c.txt.xz") == CAPITALS["c.txt.xz"]
    *_, last = report.lines()
    assert last.startswith(f"failed: {tmp_path / 'in' / 'b.txt.gz'}: the gzip archive is damaged")
    assert report.to_json()["failed"]["b.txt.gz"]["code"] == "D002"
    with pytest.raises(DataError, match="1 of 4 shards could not be translated") as refused:
        report.check()
    assert refused.value.exit_code == 3
    (tmp_path / "in" / "b.txt.gz").write_bytes(TEXTS["b.txt.gz"])
    again = run(tmp_path, OneProcess(), [])
    assert again.to_json()["kept"] == 3 and again.to_json()["translated"] == 1 and again.failed == []


def test_a_shard_at_which_workers_die_is_named(tmp_path: Path):
    write_shards(tmp_path / "in")
    report = run(tmp_path, Backwards("a.txt"), [])
    *_, last = report.lines()
    assert last == "failed: a.txt: 3 workers died at it; no memory"
    assert report.to_json()["translated"] == 3 and not (tmp_path / "out" / "a.txt").exists()


def test_notes_are_reported_with_their_shard(tmp_path: Path):
    write_shards(tmp_path / "in", {"a.txt": b"?\n" * 7})
    told: list[str] = []
    run(tmp_path, OneProcess(), [], told)
    assert told[0] == "a.txt: line 1: a question" and told[-1] == "a.txt: and 2 more notes" and len(told) == 6


def test_items_are_given_one_at_a_time(tmp_path: Path):
    """The shard that waits for its turn is not read, let alone translated."""
    write_shards(tmp_path / "in")
    found = find_shards(tmp_path / "in", tmp_path / "out")
    seen: list[str] = []
    results = OneProcess().run(lambda: capitals(seen), [ShardTask(shard) for shard in found.shards])
    assert seen == []
    next(results)
    assert seen == ["one", "two"]
