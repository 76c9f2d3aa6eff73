"""`openwork data check`: everything at once, as lines, JSON and a page; nothing is changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from journeys.command import openwork
from openwork.base.errors import UsageError
from openwork.data.check import text
from openwork.data.check.faults import COUNTS, named_pairs
from openwork.data.check.repeats import LEAK
from openwork.data.check.report import UNKNOWN, check, page_of, report_lines
from openwork.data.check.text import DAMAGED
from openwork.data.records import Pair

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    content = {
        "source": b"a dog\na cat\na bird \xff\n",
        "target": b"ein hund\neine katze\nein vogel\nzu viel\n",
        "valid-source": b"a dog\na fish <b>\n",
        "valid-target": "ein hund\nein fisch ñ\n".encode(),
    }
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
    return [str(part) for name in content for part in (f"--{name}", tmp_path / name)]


def test_all_that_is_wrong_is_told_at_once(call: Any, files: list[str], tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.startswith(".")}
    told = call("data", "check", *files, "--html", tmp_path / "report.html")
    assert told.code == 0, told.err
    said = told.out.decode()
    for kind in (COUNTS, DAMAGED, LEAK, UNKNOWN):
        assert kind in said
    assert "3 / 4" in said and "needs at least" in said and "nothing was changed or left out" in said
    assert all((tmp_path / name).read_bytes() == data for name, data in before.items())
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert DAMAGED in page and "<b>" not in page and "&lt;b&gt;" in page
    values = json.loads(call("data", "check", *files, "--json").out)
    assert values["train"]["faults"][COUNTS]["lines"] == [4] and values["valid"]["faults"][LEAK]["count"] == 1
    assert "编码损坏".encode() in openwork("--lang", "zh", "data", "check", *files).out


def test_a_corpus_by_name(call: Any) -> None:
    values = json.loads(call("data", "check", "copy", "--json").out)
    assert list(values) == ["train", "valid", "test"]


def test_questions_without_an_answer(call: Any, files: list[str]) -> None:
    assert "nothing to check" in call("data", "check").err
    assert "other side" in call("data", "check", *files[:2]).err
    assert call("data", "check", *files, "--languages", "en").code == UsageError.exit_code
    unknown = call("data", "check", "no-such")
    assert unknown.code != 0 and "no-such" in unknown.err


def test_nothing_found_is_said() -> None:
    report = check({"train": named_pairs(lambda: [Pair("a dog", "ein hund")])}, None, lambda line: None)
    lines = [str(line) for line in report_lines(report)]
    assert lines[1].strip() == "no faults were found" and lines[-1].startswith("0 faults")
    assert "no faults were found" in page_of(report, "en")


LANGUAGES = [
    Pair("Two dogs are running along the beach.", "Zwei Hunde rennen am Strand entlang."),
    Pair("Two dogs are running along the beach.", "Two dogs are running along the beach."),
    Pair("ok", "no"),
]


def test_another_language_is_told() -> None:
    pytest.importorskip("py3langid", reason="the extra languages is not installed")
    (found,) = text.language_faults(LANGUAGES, ("en", "de"))
    assert found.line == 2 and found.shown.startswith("en: ")


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "can_tell_languages", lambda: False)
    with pytest.raises(UsageError, match="py3langid"):
        list(text.language_faults(LANGUAGES, ("en", "de")))
