"""The documentation as a site: every page is in its contents, every link leads somewhere, nothing needs the net."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import openwork
from journeys.command import PATIENCE
from journeys.pages import REPOSITORY

DOCS = REPOSITORY / "docs"
SETTINGS: dict[str, Any] = yaml.safe_load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"))
OUTSIDE = {"index.md", "contributing.md", "changelog.md"}  # README.md and its like, by docs/site/hooks.py
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def contents(entries: list[dict[str, Any]]) -> Iterator[tuple[str, str | None]]:
    """Titles, and the pages that they name."""
    for entry in entries:
        for title, inside in entry.items():
            yield title, inside if isinstance(inside, str) else None
            if isinstance(inside, list):
                yield from contents(inside)


def test_every_page_is_in_the_contents():
    named = [page for _, page in contents(SETTINGS["nav"]) if page is not None]
    pages = {path.name for path in DOCS.glob("*.md") if not path.name.endswith(".zh-CN.md")}
    assert sorted(named) == sorted(pages | OUTSIDE)
    twins = {path.name.replace(".zh-CN", "") for path in DOCS.glob("*.zh-CN.md")}
    assert twins <= pages


def test_every_title_of_the_contents_has_a_chinese_one():
    (languages,) = (plugin["i18n"]["languages"] for plugin in SETTINGS["plugins"] if "i18n" in plugin)
    (chinese,) = (language["nav_translations"] for language in languages if "nav_translations" in language)
    assert {title for title, _ in contents(SETTINGS["nav"])} == set(chinese)


@pytest.mark.parametrize("page", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_of_a_page_lead_somewhere(page: str):
    text = re.sub(r"`[^`\n]*`", "", (DOCS / page).read_text(encoding="utf-8"))
    assert [link for link in LINK.findall(text) if not (DOCS / link).exists()] == []


def test_the_reference_has_every_public_name():
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    shown = re.findall(r"^::: openwork\.(\w+)$", text, re.MULTILINE)
    assert sorted(shown) == sorted(set(openwork.__all__) - {"__version__"})


@pytest.mark.slow
def test_the_site_is_built_and_needs_no_net(tmp_path: Path):
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("needs the extra docs, which make docs installs")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc="?https?:|<link[^>]*rel="?stylesheet[^>]*https?:""")
    for page in ("index.html", "reference.html", "zh-CN/index.html", "zh-CN/recipes.html"):
        assert not loaded.search((tmp_path / "site" / page).read_text(encoding="utf-8")), page
    assert "训练" in (tmp_path / "site/zh-CN/index.html").read_text(encoding="utf-8")
