"""HTML: what is translated and what stays, and any text in any order of the marks."""

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from documents.arrangements import arrangements, assert_stays, changed, parts_of, reading, renumbered
from documents.showing import is_well_formed
from openwork.documents.document import DocumentSettings
from openwork.documents.formats.html import read_html
from openwork.documents.segments import Mark, Role

OPEN, CLOSE = Mark(0, Role.OPEN), Mark(0, Role.CLOSE)
PAGE = """\ufeff<!DOCTYPE html>
<HTML lang="en-US">
<head>\r
<meta charset="utf-8"><meta name=description content='A "page" &amp; more'>
<title>Cats &lt;b&gt; dogs</title>
<style>p { color: red }</style><script>if (a < b) { document.write("<p>no</p>") }</script>
</head>
<body>
<!-- <p>no</p> -->
<h1> <a name="top"></a>Cats </h1>
<p>The <b>cat</b>
   sat&nbsp;on <code>x&lt;y</code>.<br/>It <img src=c.png alt="A cat"> slept.
<p>Next <i translate="no">Felis</i>
<ul><li>One<li class="big notranslate">Two<li>Three</ul>
<pre>keep <b>this</b></pre>
<div translate=no><p>no</p><div>no</div></div>
<textarea placeholder="Write here">no</textarea>
<svg><text>no</text></svg>
<button title='Don&#39;t'>Go <svg/></button>
<table><tr><td>1<td>Two</table>
</body>
</HTML>
"""


def shown(parts: tuple[str | Mark, ...]) -> str:
    names = {Role.OPEN: "({}", Role.CLOSE: "{})", Role.ALONE: "[{}]"}
    return "".join(part if isinstance(part, str) else names[part.role].format(part.text or part.key) for part in parts)


def test_page():
    document = assert_stays(read_html, PAGE.encode())
    assert [shown(parts) for parts in parts_of(document)] == [
        'A "page" & more',
        "Cats <b> dogs",
        "Cats",
        "The (0cat0) sat\u00a0on [x<y].[2]It [3] slept.",
        "A cat",
        "Next [Felis]",
        "One",
        "Three",
        "Write here",
        "Don't",
        "Go",
        "1",
        "Two",
    ]
    assert document.segments[3].place == "line 11"


def test_translated_page():
    document = read_html(PAGE.encode(), Path("x.html"), DocumentSettings(target="de_AT"))
    written = document.written([changed(parts, str.upper) for parts in parts_of(document)]).decode()
    for wanted in [
        '<HTML lang="de-AT">',
        "content='A \"PAGE\" &amp; MORE'",
        "<title>CATS &lt;B&gt; DOGS</title>",
        '<p>THE <b>CAT</b> SAT\u00a0ON <code>x&lt;y</code>.<br/>IT <img src=c.png alt="A CAT"> SLEPT.\n<p>',
        '<p>NEXT <i translate="no">Felis</i>\n<ul>',
        "<button title='DON&#39;T'>GO <svg/></button>",
    ]:
        assert wanted in written
    assert written.startswith("\ufeff<!DOCTYPE html>\n")
    assert document.written([None] * len(document.segments)) == PAGE.encode()


@pytest.mark.parametrize(
    ("fragment", "wanted"),
    [
        ("<p>Hello <b>world</b></p>", ["Hello (0world0)"]),
        ("no tag & none", ["no tag & none"]),
        ("", []),
        (" \n ", []),
        ("a < b <3", ["a < b <3"]),
        ("<b>open", ["open"]),
        ("one <b>open", ["one [0]open"]),
        ("<p>a</b> b</p>", ["a[0] b"]),
        ("<b>x <i>y</b> z</i>", ["(0x [1]y0) z"]),
        ("<p><b>Note:</b> text</p>", ["(0Note:0) text"]),
        ("<p><b><i>all</i></b><br></p>", ["all"]),
        ("text <!-- no --> more", ["text [0] more"]),
        ("<my-tag>a</my-tag> b", ["(0a0) b"]),
        ("<pre>no", []),
        ("<code>no</code>", []),
        ("<code>a<p>b</p></code>c", ["c"]),
        ("<p translate=no>no<p>yes", ["yes"]),
        ("<li><b translate=no>no</b></li>", []),
        ("yes <b", ["yes"]),
        ('yes <b title="no>no', ["yes"]),
        ("<a title=Go href=/x/>y</a>", ["Go", "y"]),
        ("<ruby>漢<rp>(</rp><rt>kan</rt></ruby>", ["漢(0(0)(1kan1)"]),
        ("&#99999999999999;" + "&#" + "9" * 5000 + ";", ["\ufffd\ufffd"]),
        ("<![CDATA[no]]>yes<?php no ?>", ["yes"]),
        ("<script>no", []),
        ("<title>a <b>", ["a <b>"]),
    ],
)
def test_fragment(fragment: str, wanted: list[str]):
    assert [shown(parts) for parts in parts_of(assert_stays(read_html, fragment.encode()))] == wanted


def test_xhtml_elements_without_content():
    """In HTML, "/>" does not end a paragraph."""
    text = '<p translate="no"/>yes'
    assert parts_of(reading(read_html, text, "x.xhtml")) == [("yes",)]
    assert parts_of(reading(read_html, f"<?xml version='1.0'?>{text}")) == [("yes",)]
    assert parts_of(reading(read_html, text)) == []


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("a=x", 'a="p &amp;&quot;\'&lt;"'), ("a='x'", "a='p &amp;\"&#39;&lt;'"), ('a="x"', 'a="p &amp;&quot;\'&lt;"')],
)
def test_values_stay_in_their_quotes(value: str, wanted: str):
    document = reading(read_html, f"<img {value.replace('a=', 'alt=')}>")
    assert document.written([("p &\"'<",)]).decode() == f"<img {wanted.replace('a=', 'alt=')}>"


class Tags(HTMLParser):
    """The tags of a document, each with its attributes, as Python reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[object] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, [attribute for attribute in attrs if attribute[0] != "title"]))

    def handle_endtag(self, tag: str) -> None:
        self.found.append(tag)


TAGS = some.sampled_from([
    "<p>", "</p>", "<b>", "</b>", "<i class=x>", "</i>", "<br>", "<li>", "<div>", "</div>", "<code>",
    "</code>", "<!--", "-->", "<a title='x'>", "</a>", "<script>\n", "</script>", "&lt;", "&nbsp", " ",
    "word ", "<", ">", "<pre>", "<svg/>", "</title>", "<title>", "<td>", "<table>", "</table>",
    "<p translate=no>",
])  # fmt: skip


@given(some.text() | some.lists(TAGS | some.text(max_size=3), max_size=30).map("".join))
def test_any_text_stays(text: str):
    document = assert_stays(read_html, text.encode(errors="replace"))
    assert all(is_well_formed(parts) for parts in parts_of(document))


# Python's parser of 3.11 reads tags in a title, where the standard has none.
@given(some.lists(TAGS.filter(lambda tag: tag != "<title>"), max_size=30).map("".join))
def test_other_texts_leave_the_tags(text: str):
    document = assert_stays(read_html, text.encode())
    translations = [changed(parts, lambda part: f"{part}<&>") for parts in parts_of(document)]
    written = document.written(translations).decode()
    assert parts_of(reading(read_html, written)) == translations
    assert Tags(written).found == Tags(text).found


@given(some.data())
def test_any_translation(data: some.DataObject):
    document = reading(read_html, "<div><p>A <b>b</b> <i>c <a href='x'>d</a></i><br>e <code>f</code>. <p>G</div>")
    translation = data.draw(arrangements(document.segments[0].parts))
    again = reading(read_html, document.written([translation, None]).decode())
    assert parts_of(again) == [renumbered(translation), ("G",)]


@pytest.mark.slow  # seconds each
@pytest.mark.parametrize(
    "unit", ["<", "<a ", '<a b="', "<!--", "</", "<b>", "</i><b>", "<b></i>", "<code>", "<p><b>", "&#"]
)
def test_long_input(unit: str):
    """250 kB; what takes quadratic time would reach the tests' time limit."""
    assert_stays(read_html, unit.encode() * (250_000 // len(unit)))


def help_pages() -> list[Path]:
    folders = [Path("/usr/share/libreoffice/help/en-US")]
    if data := os.environ.get("OPENWORK_DATA"):
        folders.insert(0, Path(data) / "libreoffice-help")
    return next((found for folder in folders if (found := sorted(folder.rglob("*.html")))), [])


def test_help_of_libreoffice():
    """Every twentieth page of 2,561."""
    lxml = pytest.importorskip("lxml.html", reason="lxml is not installed")
    pages = help_pages()
    if not pages:
        pytest.skip("needs the package libreoffice-help-en-us, or a folder libreoffice-help of OPENWORK_DATA")

    def tree(content: bytes) -> list[object]:
        return [element.tag for element in lxml.document_fromstring(content).iter()]

    for page in pages[::20]:
        content = page.read_bytes()
        document = assert_stays(read_html, content)
        translations = [changed(parts, lambda part: f"{part}ß<&>") for parts in parts_of(document)]
        written = document.written(translations)
        assert parts_of(read_html(written, page, DocumentSettings())) == translations
        assert tree(written) == tree(content)
