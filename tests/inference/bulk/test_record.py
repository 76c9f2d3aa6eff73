"""The record of a folder of translations, and what it refuses."""

import json
from pathlib import Path

import pytest

from inference.bulk.folders import shard, write_shards
from openwork.base.errors import OpenworkError, UsageError
from openwork.inference.bulk.record import LOCK, NAME, open_record
from openwork.inference.bulk.work import ShardResult, ShardSums

SUMS = ShardSums("0" * 64, "1" * 64, 2)


def lines(out: Path) -> list[dict]:
    return [json.loads(line) for line in (out / NAME).read_text().splitlines()]


def test_what_is_noted_is_known_again(tmp_path: Path):
    folder, out = write_shards(tmp_path / "in"), tmp_path / "out"
    shards = [shard(folder, out, name) for name in ("a.txt", "d.txt")]
    with open_record(out, [folder]) as record:
        record.plan({"beam": 4}, shards)
        assert record.before(shards[0]) is None
        record.put(ShardResult("a.txt", SUMS, seconds=1.5))
        record.put(ShardResult("d.txt", problem=OpenworkError("no good")))
    with open_record(out, [folder]) as record:
        record.plan({"beam": 4}, shards)
        assert record.before(shards[0]) == SUMS and record.before(shards[1]) is None
        record.put(ShardResult("a.txt", SUMS, is_kept=True))  # nothing new
    kinds = [line["kind"] for line in lines(out)]
    assert kinds == ["plan", "shards", "finished", "failed"]
    assert lines(out)[2]["source"] == SUMS.source and lines(out)[3]["problem"] == "no good"


def test_a_later_line_counts(tmp_path: Path):
    """A shard that was finished and then failed, since its file had changed, is done again."""
    out = tmp_path / "out"
    one = shard(tmp_path, out, "a")
    with open_record(out, []) as record:
        record.plan({}, [one])
        record.put(ShardResult("a", SUMS))
        record.put(ShardResult("a", problem=OpenworkError("cut")))
    with open_record(out, []) as record:
        assert record.before(one) is None


def test_half_a_line_at_the_end_is_cut_off(tmp_path: Path):
    out = tmp_path / "out"
    with open_record(out, []) as record:
        record.plan({}, [shard(tmp_path, out, "a")])
    with (out / NAME).open("a") as file:
        file.write('{"kind": "finished", "na')
    with open_record(out, []) as record:
        assert record.before(shard(tmp_path, out, "a")) is None
    assert [line["kind"] for line in lines(out)] == ["plan", "shards"]


def test_translations_made_otherwise_are_not_mixed(tmp_path: Path):
    out = tmp_path / "out"
    with open_record(out, []) as record:
        record.plan({"beam": 4, "bundles": ["a"], "best": 1}, [])
    changed = pytest.raises(OpenworkError, match="made otherwise: beam: 4 -> 5; bundles")
    with open_record(out, []) as record, changed as refused:
        record.plan({"beam": 5, "bundles": ["b"], "best": 1}, [])
    assert refused.value.code == "E043"


def test_files_of_the_user_are_not_replaced(tmp_path: Path):
    out = tmp_path / "out"
    with open_record(out, []) as record:
        record.plan({}, [shard(tmp_path, out, "a")])
    (out / "a").touch()  # as after a kill between the file and its line
    (out / "b").write_text("mine")
    with open_record(out, []) as record:
        record.plan({}, [shard(tmp_path, out, "a")])
        with pytest.raises(OpenworkError, match="b: there already, and this command did not write it") as refused:
            record.plan({}, [shard(tmp_path, out, "a"), shard(tmp_path, out, "b")])
    assert refused.value.code == "E044" and (out / "b").read_text() == "mine"


def test_only_an_own_or_empty_folder_is_taken(tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    (out / LOCK).touch()  # as after a kill before the record was there
    with open_record(out, []):
        pass
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").touch()
    with pytest.raises(UsageError, match="with other things in it"), open_record(other, []):
        pass
    source = write_shards(tmp_path / "in")
    with pytest.raises(UsageError, match="would write there"), open_record(source / "out", [source]):
        pass


def test_two_processes_do_not_translate_into_one_folder(tmp_path: Path):
    busy = pytest.raises(OpenworkError, match="another openwork is translating")
    with open_record(tmp_path / "out", []), busy as refused, open_record(tmp_path / "out", []):
        pass
    assert refused.value.code == "E045"
    with open_record(tmp_path / "out", []):
        pass


@pytest.mark.parametrize("line", ['{"kind": "finished"}', '{"kind": "shards", "names": 3}', '{"sort": 1}'])
def test_another_record_is_refused(tmp_path: Path, line: str):
    (tmp_path / NAME).write_text(f"{line}\n")
    with pytest.raises(OpenworkError, match="not the record of translations") as refused, open_record(tmp_path, []):
        pass
    assert refused.value.code == "E042"
