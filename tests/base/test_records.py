"""The log of a run survives kills and full disks."""

import errno
import json
from pathlib import Path

import numpy
import pytest

from openwork.base import records
from openwork.base.errors import DataError, OpenworkError
from openwork.base.records import RecordWriter, read_records


def test_records_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "run" / "log.jsonl"
    with RecordWriter(path) as log:
        log.write("step", number=1, loss=numpy.float32(0.5), text="爱\n", where=path, sizes=(1, 2))
        assert len(read_records(path)) == 1  # readable while the run goes on
        log.write("end")
    first, last = read_records(path)
    assert first.pop("time") > 1_600_000_000
    assert first == {"kind": "step", "number": 1, "loss": 0.5, "text": "爱\n", "where": str(path), "sizes": [1, 2]}
    assert last["kind"] == "end"


def test_numbers_without_json_form_stay_legible(tmp_path: Path) -> None:
    with RecordWriter(tmp_path / "log") as log:
        log.write("step", loss=float("nan"), best=-float("inf"))
    text = (tmp_path / "log").read_text()
    record = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (record["loss"], record["best"]) == ("nan", "-inf")


@pytest.mark.parametrize("torn", ['{"kind": "st', "x" * 200_000])
@pytest.mark.parametrize("whole", ["", '{"kind":"a"}\n{"kind":"b"}\n'])
def test_a_torn_last_line_is_cut_when_the_file_is_opened_again(tmp_path: Path, whole: str, torn: str) -> None:
    path = tmp_path / "log"
    path.write_text(whole + torn)
    assert len(read_records(path)) == whole.count("\n")
    with RecordWriter(path) as log:
        log.write("c")
    assert [record["kind"] for record in read_records(path)] == [*"ab"[: whole.count("\n")], "c"]


def test_a_full_disk_leaves_only_whole_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    real = records.os.write
    calls = iter([5, None])

    def half_then_full(descriptor: int, data: bytes) -> int:
        if (size := next(calls)) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:size])

    with RecordWriter(path) as log:
        log.write("a")
        monkeypatch.setattr(records.os, "write", half_then_full)
        with pytest.raises(OpenworkError, match="cannot be written"):
            log.write("b")
        monkeypatch.setattr(records.os, "write", real)
        log.write("c")
    assert [record["kind"] for record in read_records(path)] == ["a", "c"]


@pytest.mark.parametrize("line", ["{", "3", "", "\x00\x00"])
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log"
    path.write_text('{"kind":"a"}\n' + line + "\n")
    with pytest.raises(DataError, match=":2: this line is not a record"):
        read_records(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_records(tmp_path / "none")
    with pytest.raises(OpenworkError, match="cannot be written"):
        RecordWriter(tmp_path)
