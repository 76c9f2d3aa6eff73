"""openwork translate --source FILE: from the command line, with a model that has learnt nothing."""

import json
from pathlib import Path

import pytest

from calling import Call

pytest.importorskip("sentencex", reason="documents are cut into sentences by sentencex")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b c\r\n\r\n  d e. \nd e.\n12\n")
    return path


def test_a_text_keeps_its_lines(call: Call, bundle_folder: Path, text: Path, tmp_path: Path) -> None:
    done = call("translate", bundle_folder, "--source", text, "--out", tmp_path / "b.txt", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["texts"], found["kept"], found["sentences"]) == (4, 1, 2)
    lines = (tmp_path / "b.txt").read_bytes().decode().split("\n")
    assert len(lines) == 6 and lines[1] == "\r" and lines[4:] == ["12", ""]
    assert lines[0].endswith("\r") and lines[2].startswith("  ") and lines[2].endswith(" ")
    assert lines[2].strip() == lines[3]
    plain = call("translate", bundle_folder, stdin=b"a b c\nd e.\n").out.decode().split("\n")
    assert [lines[0].strip(), lines[3]] == plain[:2]


def test_memory_and_report(call: Call, bundle_folder: Path, text: Path, tmp_path: Path) -> None:
    (tmp_path / "known.tsv").write_text("a b c\tx y\n", encoding="utf-8")
    out = tmp_path / "b.txt"
    done = call("translate", bundle_folder, "--source", text, "-o", out, "--memory", tmp_path / "known.tsv")
    assert done.code == 0, done.err
    assert out.read_text(encoding="utf-8").startswith("x y")
    assert "4 texts: 1 from the memory, 1 kept as they are" in done.out.decode()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (["--source", "missing.txt", "--out", "b"], "D007"),
        (["--source", "a.xyz", "--out", "b"], "D170"),
        (["--source", "bad.txt", "--out", "b"], "D169"),
        (["--source", "a.txt"], "U104"),
        (["--memory", "a.tsv"], "U148"),
        (["--only-untranslated"], "U148"),
        (["--source", "a.txt", "--out", "a.txt"], "U150"),
        (["--source", "a.txt", "--out", "bad.txt"], "U150"),
        (["--source", "a.txt", "--out", "link"], "U150"),
        (["--source", "a.txt", "--out", "b", "--stream"], "U149"),
        (["--source", "a.txt", "--out", "b", "--best", "2"], "U149"),
        (["--source", "a.txt", "--out", "b", "--requests"], "U149"),
        (["--source", "a.txt", "--out", "b", "--on", "ray"], "U149"),
        (["--source", "a.txt", "--out", "b", "--server", "http://127.0.0.1:1", "--guard"], "U143"),
    ],
)
def test_refused(
    call: Call, bundle_folder: Path, text: Path, monkeypatch: pytest.MonkeyPatch, given: list[str], code: str
) -> None:
    monkeypatch.chdir(text.parent)
    Path("a.xyz").write_text("a")
    Path("bad.txt").write_bytes(b"a\n\xff\n")
    Path("link").symlink_to("b")
    done = call("translate", bundle_folder, *given, stdin=b"")
    assert done.code != 0
    assert code in done.err, done.err
    assert not Path("b").exists() and Path("bad.txt").read_bytes() == b"a\n\xff\n"
