"""The page of chapter 8: one file that asks for nothing, with Python's trace in it, built from the folder page."""

import gzip
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from calling import Call
from openwork.inspection.page.content import script_hash, script_text
from openwork.inspection.trace import Step, Trace
from openwork.study.documents import find_example
from openwork.study.page import EXAMPLES, page_content, step_page

REPOSITORY = Path(__file__).resolve().parents[3]
SOURCE, BUILT = REPOSITORY / "page", REPOSITORY / "src" / "openwork" / "inspection" / "page" / "static"
MOST_BYTES = 120_000  # compressed, as a server sends it


def test_the_command_writes_the_page(call: Call, tmp_path: Path) -> None:
    done = call("explain", "--example", "002-8", "--html", tmp_path / "step.html")
    page = (tmp_path / "step.html").read_text(encoding="utf-8")
    assert done.code == 0 and 'id="content"' in page
    assert call("explain", "--example", "002-8", "--html", tmp_path / "step.html").code == 0  # its own file again


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_it_asks_for_nothing_and_holds_the_trace(example: str) -> None:
    trace = find_example(example)()
    page = step_page(trace, "en")
    assert "default-src 'none'" in page and len(gzip.compress(page.encode())) < MOST_BYTES
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page)
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert content["step"]["trace"]["steps"] == json.loads(json.dumps(trace.to_json()["steps"]))
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert f"script-src '{script_hash(script)}'" in page


def test_text_cannot_end_its_element() -> None:
    hostile = {"label": "</script><img src=x onerror=alert(1)>&\u2028"}
    text = script_text(hostile)
    assert not set(text) & set("<>&\u2028") and json.loads(text) == hostile
    with pytest.raises(ValueError, match="JSON"):
        script_text({"value": float("inf")})


def test_a_title_is_text() -> None:
    trace = find_example("002-8")()
    steps: tuple[Step, ...] = trace.steps
    page = step_page(Trace(trace.name, "<img src=x onerror=alert(1)>", steps), "en")
    assert "<img" not in page


def test_other_examples_have_no_such_page() -> None:
    with pytest.raises(KeyError):
        page_content(find_example("000-1.3")())


def test_what_the_units_read_is_up_to_date() -> None:
    """`page/test/content.json` is what Python writes now; to write it anew, put `page_content` of 002-8 there."""
    written = json.loads((SOURCE / "test" / "content.json").read_text(encoding="utf-8"))
    now = json.loads(json.dumps(page_content(find_example("002-8")())))
    assert written.keys() == now.keys()
    assert _rounded(written) == _rounded(now)


def _rounded(value: object) -> object:
    """Numbers to ten decimals: the last ones differ between processors, also of what is zero but for rounding."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 10) + 0.0 if isinstance(value, float) else value


def test_both_languages_have_the_same_texts() -> None:
    texts = {
        name: json.loads((SOURCE / "src" / "messages" / f"{name}.json").read_text("utf-8")) for name in ("en", "zh")
    }
    assert texts["en"].keys() == texts["zh"].keys()
    gaps = {
        name: {key: set(re.findall(r"\{\w+\}", text)) for key, text in found.items()} for name, found in texts.items()
    }
    assert gaps["en"] == gaps["zh"]
    assert all(texts["zh"].values()) and all(texts["en"].values())


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.skipif(not (SOURCE / "node_modules").exists(), reason="needs what make page installs")
def test_the_built_files_are_those_of_the_source(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=SOURCE, check=True, env=os.environ)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        path.name: path.read_bytes() for path in BUILT.iterdir()
    }
