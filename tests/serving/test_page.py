"""The pages / and /docs: nothing from elsewhere, nothing inserted as HTML, and a policy for their own scripts alone."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openwork.base.pages import render

PAGE = render("interface.html", title="openwork")


def inside(element: str) -> str:
    (found,) = re.findall(f"<{element}>(.*?)</{element}>", PAGE, re.DOTALL)
    return found


def test_it_needs_nothing_from_elsewhere_and_inserts_no_html() -> None:
    assert not re.search(r"//[a-z0-9.-]+\.[a-z]", PAGE) and "@import" not in PAGE and "url(" not in PAGE
    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "srcdoc", " on"):
        assert way not in inside("script").replace(" on the", "").replace(" one", ""), way
    assert not re.search(r"<[^>]+\s(on\w+|style)\s*=", PAGE)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which reads JavaScript")
def test_its_script_is_javascript(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text(inside("script"), encoding="utf-8")
    subprocess.run(["node", "--check", tmp_path / "page.js"], check=True)


def test_its_policy_names_its_script_and_style() -> None:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from openwork.serving.page import docs_page

    answer = docs_page()
    page, policy = bytes(answer.body).decode(), answer.headers["content-security-policy"]
    for element in ("script", "style"):
        (found,) = re.findall(f"<{element}>(.*?)</{element}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(found.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy


def served_content(page: bytes | str) -> dict[str, Any]:
    text = page if isinstance(page, str) else page.decode()
    (written,) = re.findall(r'id="content">(.*?)</script>', text, re.DOTALL)
    found: dict[str, Any] = json.loads(written)["served"]
    return found


def test_the_translator_s_page_asks_its_own_server_alone() -> None:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from openwork.serving.bodies.translation import BundleAnswer
    from openwork.serving.page import translator_page

    hostile = "</script><img src=x onerror=alert(1)>"
    answer = translator_page(
        [BundleAnswer(name=hostile, source="en", target="de")], needs_token=False, shows_runs=False
    )
    page, policy = bytes(answer.body).decode(), answer.headers["content-security-policy"]
    assert served_content(page)["bundles"] == [{"name": hostile, "source": "en", "target": "de"}]
    assert "<img" not in page and policy.startswith("default-src 'none'") and "connect-src 'self'" in policy
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "frame-ancestors 'none'" in policy


def test_names_of_bundles_are_for_those_with_the_token() -> None:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from openwork.serving.bodies.translation import BundleAnswer
    from openwork.serving.page import translator_page

    answer = translator_page(
        [BundleAnswer(name="private", source="en", target="de")], needs_token=True, shows_runs=False
    )
    assert b"private" not in answer.body and served_content(bytes(answer.body)) == {"bundles": [], "needsToken": True}
