"""The report: one file that is complete, loads nothing, and lets no text become markup."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from openwork.inspection.plots import Series
from openwork.inspection.report import (
    AttentionExample,
    Curve,
    NextStep,
    ReportContent,
    Sample,
    ScoreTable,
    render_report,
    write_report,
)

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, the text, and whether all is closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style" and data.strip():
            self.texts.append(data.strip())

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def filled(words: str = "words") -> ReportContent:
    """A report with every part, in which `words` stands wherever a text can stand."""
    return ReportContent(
        title=words,
        summary=words,
        headline=((words, words),),
        settings=((words, words),),
        curves=(Curve(words, words, words, (Series(words, [(1, 2.0), (2, 1.0)]),), log_y=True, caption=words),),
        scores=(ScoreTable(words, (words, words), ((words, "99.1"),), caption=words),),
        samples=(
            Sample(words, words, words, True, "de", "zh-Hans", note=words),
            Sample(words, words, words, False, words, words),
        ),
        attention=(AttentionExample(words, np.eye(2), ((words, words), words), (words, words), caption=words),),
        machine=((words, words),),
        next_steps=(NextStep(words, words),),
    )


def test_the_parts_and_their_order():
    page = Page(render_report(filled()))
    headings = [
        "What was trained",
        "Learning curves",
        "Scores",
        "Outputs on held-out examples",
        "Attention weights",
        "Machine and times",
        "What to try next",
    ]
    assert [text for text in page.texts if text in headings] == headings
    assert len(page.attributes("svg")) == 2
    assert page.texts.count("✓ right") == 1 and page.texts.count("✗ wrong") == 1
    assert "99.1" in page.texts


def test_an_empty_part_has_no_section():
    page = Page(render_report(ReportContent("only a title")))
    assert page.attributes("section") == []
    assert "only a title" in page.texts


def test_columns_that_nobody_fills_are_left_out():
    page = Page(render_report(ReportContent("t", samples=(Sample("ein Hund", "a dog"),))))
    assert len(page.attributes("th")) == 2
    assert len(page.attributes("td")) == 2


@pytest.mark.parametrize(
    "evil", ["<img src=x onerror=alert(1)>", '"><script>alert(1)</script>', "</style><b>", "$body ${title}"]
)
def test_no_text_becomes_markup(evil: str):
    # As long as the other, so that labels are cut and leaned in the same way.
    harmless, page = Page(render_report(filled("w" * len(evil)))), Page(render_report(filled(evil)))
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in harmless.elements]
    assert [set(attributes) for _, attributes in page.elements] == [set(more) for _, more in harmless.elements]
    assert page.texts.count(evil) >= 15


def test_the_language_cannot_leave_its_attribute():
    page = Page(render_report(ReportContent("t", language='en" onload="x')))
    assert set(page.attributes("html")[0]) == {"lang"}


def test_it_asks_for_nothing():
    source = render_report(filled())
    page = Page(source)
    policy = next(item for item in page.attributes("meta") if item.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in page.elements}
    addresses = set(re.findall(r"https?://[^\"'\s<>]+", source))
    assert addresses == {"http://www.w3.org/2000/svg"}, "only the name of a format, which nobody fetches"
    assert "url(" not in source and "@import" not in source
    loading = [value for _, more in page.elements for name, value in more.items() if name in {"src", "href", "data"}]
    assert loading == ["data:,"]


def test_languages_and_directions():
    page = Page(render_report(filled()))
    assert page.attributes("html") == [{"lang": "en"}]
    words = [item for item in page.attributes("td") if item.get("dir") == "auto"]
    assert [item.get("lang") for item in words[:3]] == ["de", "zh-Hans", "zh-Hans"]
    assert "prefers-color-scheme: dark" in render_report(filled())


def test_it_is_written_as_one_file(tmp_path: Path):
    content = filled("二〇二六年 — Zürich 😀")
    write_report(tmp_path / "report.html", content)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == render_report(content)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_characters_that_cannot_be_written_do_not_stop_it(tmp_path: Path):
    write_report(tmp_path / "report.html", filled("a\x00\ud800b"))
    assert "a\ufffd\ufffdb" in (tmp_path / "report.html").read_text(encoding="utf-8")
