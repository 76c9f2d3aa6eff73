"""Markdown: what is translated, what stays, and that a translation changes no structure."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from documents.arrangements import TEXTS, arrangements, assert_stays, changed, parts_of, reading, renumbered

pytest.importorskip("markdown_it", reason="the extra documents is not installed")

from markdown_it import MarkdownIt

from documents.showing import is_well_formed
from openwork.base.errors import DataError
from openwork.documents.formats import markdown_inline
from openwork.documents.formats.markdown import read_markdown
from openwork.documents.segments import Mark, Role, plain

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = """\ufeff---
title: kept
---
# Head **b** #

> a *b*
> c `code` [l**i**nk](u "t") ![i](s)  
> d\\
> e

- [ ] task
- **all**
  more

Set
ext
===

| a | b\\|c |
|--|--|
| `x\\|y` z | **q** |

    kept

```
kept
```
<div>
kept
</div>

[r]: http://kept

see [r], [text][r] <http://auto> &amp; \\* a_b_c <b>x</b> [^1] ~~s~~

[^1]: A footnote.
"""  # noqa: W291


def shown(parts: tuple[str | Mark, ...]) -> str:
    names = {Role.OPEN: "({}", Role.CLOSE: "{})", Role.ALONE: "[{}]"}
    return "".join(part if isinstance(part, str) else names[part.role].format(part.text or part.key) for part in parts)


def test_page():
    document = assert_stays(read_markdown, PAGE.encode())
    assert [shown(parts) for parts in parts_of(document)] == [
        "Head (0b0)",
        "a (0b0) c [code] (2l(3i3)nk2) [4][5]d[6]e",
        "task",
        "(0all0) more",
        "Set ext",
        "a",
        "b|c",
        "[x|y] z",
        "q",
        "see (0r0), (1text1) [http://auto] & * a_b_c (3x3) [4] (5s5)",
        "A footnote.",
    ]
    assert document.segments[1].place == "line 6"


def test_translated_page():
    document = reading(read_markdown, PAGE)
    written = document.written([changed(parts, str.upper) for parts in parts_of(document)]).decode()
    wanted = PAGE
    for old, new in [
        ("# Head **b** #", "# HEAD **B** #"),
        ("> a *b*\n> c `code` [l**i**nk]", "> A *B* C `code` [L**I**NK]"),
        ("> d\\\n> e", "> D  \n> E"),
        ("] task", "] TASK"),
        ("- **all**\n  more", "- **ALL** MORE"),
        ("Set\next", "SET EXT"),
        ("| a | b\\|c |", "| A | B\\|C |"),
        ("` z | **q**", "` Z | **Q**"),
        ("see [r], [text][r] <http://auto> &amp; \\* a_b_c <b>x", "SEE [R], [TEXT][r] <http://auto> & * A_B_C <b>X"),
        ("~~s~~", "~~S~~"),
        ("A footnote.", "A FOOTNOTE."),
    ]:
        assert wanted.count(old) == 1
        wanted = wanted.replace(old, new)
    assert written == wanted


def test_lines_of_chinese_are_joined_without_space():
    assert parts_of(reading(read_markdown, "你好，\n世界 *a*\nb")) == [
        ("你好，世界 ", Mark(0, Role.OPEN), "a", Mark(0, Role.CLOSE), " b")
    ]


@pytest.mark.parametrize(
    ("text", "translation", "wanted"),
    [
        ("The **word** x", ("", "词。", "词"), "<strong>词。</strong>词"),
        ("The *word* x", ("", "词。", "词"), "<em>词。</em>词"),
        ("The ~~word~~ x", ("词", "「词」", "词"), "词<del>「词」</del>词"),
        ("The _word_ x", ("词", "词", "词"), "词*词*词"),
        ("The **word** x", ("", "词", "。"), "**词**。"),
    ],
)
def test_emphasis_next_to_chinese(text: str, translation: tuple[str, str, str], wanted: str):
    """CommonMark reads no emphasis in `**词。**词`: what closes it follows punctuation and precedes a letter."""
    document = reading(read_markdown, f"- {text}\n")
    opened, closed = Mark(0, Role.OPEN), Mark(0, Role.CLOSE)
    before, inside, after = translation
    parts = tuple(part for part in (before, opened, inside, closed, after) if part != "")
    assert document.written([parts]).decode() == f"- {wanted}\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# x", "\\# x"),
        ("1. a", "1\\. a"),
        ("1) a", "1\\) a"),
        ("- b", "\\- b"),
        ("* c", "\\* c"),
        ("+ d", "\\+ d"),
        ("> e", "\\> e"),
        ("[r]", "\\[r\\]"),
        ("[new]: url", "\\[new\\]: url"),
        ("a &amp; b", "a \\&amp; b"),
        ("<b>", "\\<b\\>"),
        ("---", "\\---"),
        ("    x", "x"),
        ("```", "\\`\\`\\`"),
        ("a * b_c [x] 2 < 3 & c", "a * b_c [x] 2 < 3 & c"),
        ("\u00a0x", "&#160;x"),
        ("a\nb\0c\ud800", "a b c?"),
    ],
)
def test_text_that_would_be_markup_is_escaped(text: str, wanted: str):
    document = reading(read_markdown, "> - Hello\n\n[r]: u\n")
    assert document.written([(text,)]).decode() == f"> - {wanted}\n\n[r]: u\n"


def test_what_cannot_be_written_stays():
    """Nothing can be no paragraph, and a link can be in no link."""
    document = reading(read_markdown, "one\n\n[a](b) and [c](d)\n")
    one, two = Mark(0, Role.OPEN), Mark(1, Role.OPEN)
    nested = (one, "A", two, "B", Mark(1, Role.CLOSE), "C", Mark(0, Role.CLOSE))
    assert document.written([("",), nested]).decode() == "one\n\n[a](b) and [c](d)\n"


def test_line_ends_and_prefixes_of_hard_line_breaks():
    document = reading(read_markdown, "> 1. a  \r\n>    b\r\n")
    assert document.written([("- x", Mark(0, Role.ALONE), "- y")]).decode() == "> 1. \\- x  \r\n>    \\- y\r\n"


def test_a_table_without_bars_around():
    document = assert_stays(read_markdown, b"> a|b\n> -|-\n> c|d\n")
    assert parts_of(document) == [("a",), ("b",), ("c",), ("d",)]
    written = document.written([("- x",), ("y\\",), ("1. |",), ("z",)]).decode()
    assert written == "> \\- x|y\\\n> -|-\n> 1\\. &#124;|z\n"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(markdown_inline, "find_spec", lambda name: None)
    with pytest.raises(DataError) as raised:
        reading(read_markdown, "text")
    assert raised.value.code == "D187"


BITS = some.sampled_from([
    "*", "**", "_", "`", "[", "](x)", "~~", "<b>", "\\", "\n", "  \n", "\n\n", "> ", "- ", "1. ", "|",
    "\n|-|\n", "#", "\n===\n", "---\n", "![", "&amp;", "<", "\t", "    ", "[^1]", "word", " ", "你", "。",
    "\r\n", "```\n", "[a]: b\n",
])  # fmt: skip


@given(some.text() | some.lists(BITS, max_size=30).map("".join))
@example("~~~a~~~ b")
@example("---\n")
def test_any_text_stays(text: str):
    document = assert_stays(read_markdown, text.encode(errors="replace"))
    assert all(is_well_formed(parts) for parts in parts_of(document))


def structure(text: str) -> list[object]:
    """The blocks of a document as markdown-it reads them, and those that are not text with their content."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [(token.type, token.level, "" if token.type == "inline" else token.content) for token in tokens]


@given(some.lists(BITS, max_size=20).map("".join), TEXTS)
def test_any_text_of_a_translation_leaves_the_structure(text: str, other: str):
    document = reading(read_markdown, text)
    written = document.written([changed(parts, lambda part: part + other) for parts in parts_of(document)])
    assert structure(written.decode()) == structure(text)


@pytest.mark.parametrize("text", ["- {}\n", "# {} #\n", "> {}\n===\n", "{}\n---\n", "|a|{}|\n|-|-|\n", "{}|b\n-|-\n"])
@given(data=some.data())
def test_any_translation(text: str, data: some.DataObject):
    source = 'A **b** *c [d](x "t")* `e` <http://f> ~~g~~ <i>h</i>'
    document = reading(read_markdown, f"{text.format(source)}\n[r]: x\n")
    place = next(n for n, segment in enumerate(document.segments) if segment.text.startswith("A "))
    translation = data.draw(arrangements(document.segments[place].parts))
    translations = [None] * len(document.segments)
    written = document.written([*translations[:place], translation, *translations[place + 1 :]]).decode()
    assert parts_of(reading(read_markdown, written))[place] == renumbered(translation)
    assert structure(written) == structure(f"{text.format(source)}\n[r]: x\n")


@pytest.mark.parametrize("page", sorted(REPOSITORY.glob("*.md")) + sorted((REPOSITORY / "docs").glob("*.md"))[::4])
def test_documents_of_this_project(page: Path):
    content = page.read_bytes()
    document = assert_stays(read_markdown, content)
    translations = [changed(parts, str.upper) for parts in parts_of(document)]
    written = document.written(translations).decode()
    assert parts_of(reading(read_markdown, written)) == translations
    assert structure(written) == structure(content.decode())


@pytest.mark.slow  # a megabyte each
@pytest.mark.parametrize("unit", ["<", "*", "[", "{", "`", "_", "> ", "- ", "|", "~~", "a\n\n"])
def test_long_input(unit: str):
    """What takes quadratic time would reach the tests' time limit."""
    size = 1_000_000 if len(unit) == 1 else 50_000
    assert_stays(read_markdown, (unit * (size // len(unit))).encode())


@pytest.mark.slow  # a megabyte each
def test_long_paragraphs():
    """A paragraph of 49 kB is read; a longer one stays."""
    for unit in ("[", "*a ", "<a ", "![", "]("):
        document = reading(read_markdown, "x" + unit * (49_000 // len(unit)))
        assert [plain(parts) for parts in parts_of(document)] != []
    assert parts_of(reading(read_markdown, "a " * 25_001)) == []
