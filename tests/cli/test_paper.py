"""`openwork paper`: the list, an object as lines and as JSON, in both languages, and what is refused."""

import json
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from openwork.base.messages import catalogue
from openwork.base.phrases import shown_width
from openwork.cli.main import app
from openwork.study.paper.contents import CONTENTS, contents_lines
from openwork.study.paper.pages import page_of, page_text

pytestmark = pytest.mark.slow


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["paper", *arguments])


def test_without_a_name_all_are_listed():
    lines = invoke().stdout.splitlines()
    for name in ("eq 1", "formula positions", "figure 2", "table 4", "training"):
        assert any(line.startswith(f"  {name} ") for line in lines), name
    names = [line.split("  ")[1] for line in invoke("table").stdout.splitlines() if line.startswith("  ")]
    assert names == ["table 1", "table 2", "table 3", "table 4"]
    listed = json.loads(invoke("--json").stdout)
    assert listed["schema"] == 1 and listed["objects"][0]["name"] == "eq 1" and len(listed["objects"]) == 19


def test_the_list_needs_no_torch():
    program = (
        "import sys; from typer.testing import CliRunner; from openwork.cli.main import app\n"
        "assert CliRunner().invoke(app, ['paper']).exit_code == 0\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=1500).returncode == 0


def test_an_equation_as_lines():
    told = invoke("eq", "3").stdout
    assert "lrate = d_model^-0.5" in told and "  tests/training/test_schedules.py::test_the_papers_values\n" in told
    assert "return scale * width**-0.5 * min(step**-0.5, step * warmup**-1.5)" in told
    assert "paper-base  1.747e-07  6.988e-05  6.988e-04  3.494e-04  1.398e-04" in told


def test_an_equation_as_json():
    found = json.loads(invoke("eq", "1", "--json").stdout)
    assert found["schema"] == 2 and found["section"] == "3.2.1"
    assert found["code"][0]["name"] == "openwork.nn.kernels.reference.attention"
    assert found["code"][0]["source"].startswith("def attention(")
    assert found["trace"]["steps"][-1]["shape"] == [8, 4, 64]


def test_a_table_as_json():
    rows = json.loads(invoke("table", "3", "--json").stdout)["tables"][0]["rows"]
    assert next(row for row in rows if row[0] == "big")[2] == "214,171,648"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["equation", "1"], "nothing of the paper is called equation"),
        (["eq", "4"], "openwork paper has no eq 4"),
        (["figure", "3"], "figure 3 of the paper shows attention weights of the authors' own model"),
        (["eq", "1", "--markdown"], "--markdown is for the whole list"),
        (["--markdown", "--json"], "--markdown is for the whole list"),
    ],
)
def test_what_there_is_not_is_refused(arguments: list[str], sentence: str):
    result = invoke(*arguments)
    assert result.exit_code == 2 and result.stdout == "" and sentence in result.stderr


@pytest.mark.parametrize("name", ["eq 3", "table 1", "training"])
def test_in_chinese(name: str):
    page = page_of(name)
    told = page_text(page, 10_000, catalogue("zh").translate)
    for sentence in page.text:
        assert sentence.split(".")[0] not in told
    if name == "training":  # values are left as they are
        assert [line.split()[-1] for line in told.splitlines() if "training.schedule" in line] == ["paper"]


def test_the_list_in_chinese():
    lines = [catalogue("zh").translate(line) for line in contents_lines(list(CONTENTS))]
    assert [line for line in lines if line and not re.search(r"[\u4e00-\u9fff]", line)] == []
    assert "  eq 1                     缩放点积注意力（3.2.1 节）" in lines


def test_text_is_as_wide_as_the_terminal():
    page = page_of("eq 2")
    for width, language in ((50, "en"), (90, "en"), (50, "zh")):
        told = page_text(page, width, catalogue(language).translate)
        before_code = told.split("\n\n  openwork/")[0]
        assert max(map(shown_width, before_code.splitlines())) <= width
