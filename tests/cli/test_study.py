"""`openwork study`: the list, a study as lines, as JSON and as a page, and what is refused."""

import json
from pathlib import Path

from typer.testing import CliRunner

from openwork.cli.main import app

QUICK = ["study", "score-scale", "--set", "widths=[4, 64, 256]"]


def invoke(*arguments: str):
    return CliRunner().invoke(app, arguments)


def test_without_a_name_the_studies_are_listed():
    assert "gradients-through-time" in invoke("study").stdout
    listed = json.loads(invoke("study", "--json").stdout)
    assert len(listed) == 5 and listed[0]["settings"]["steps"] == 100


def test_a_study_as_lines_and_as_json():
    assert "holds: the variance of plain products is d_k" in invoke(*QUICK).stdout
    found = json.loads(invoke(*QUICK, "--json").stdout)
    assert found["schema"] == 1 and found["settings"]["widths"] == [4, 64, 256]
    assert found["data"]["widths"] == [4, 64, 256] and found["claims"][0]["holds"] is True


def test_a_study_as_a_page(tmp_path: Path):
    path = tmp_path / "page.html"
    result = invoke(*QUICK, "--html", str(path))
    assert result.exit_code == 0 and result.stdout == "" and "<svg" in path.read_text("utf-8")


def test_what_there_is_not_is_refused():
    assert invoke("study", "gravity").exit_code == 2
    assert invoke("study", "--html", "x.html").exit_code == 2
    assert invoke("study", "depth", "--set", "layers=0").exit_code == 3
