"""Subtitles: cues of SubRip and WebVTT."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from documents.arrangements import (
    TEXTS,
    arrangements,
    assert_stays,
    changed,
    parts_of,
    reading,
    renumbered,
)
from openwork.base.errors import DataError
from openwork.documents.formats.subtitles import read_srt, read_vtt
from openwork.documents.lines import one_line
from openwork.documents.segments import Mark, Role, plain

SRT = """\ufeff1
00:00:01,000 --> 00:00:02,500
<i>Hello there,
my</i> friend.

2
00:00:03,000 --> 00:00:04,000
{\\an8}- Who & <3?
- Nobody.
3
00:00:05,000 --> 00:00:06,000
你好，
世界。

4
00:00:07,000 --> 00:00:08,000

""".replace("\n", "\r\n")
VTT = """WEBVTT - a film

STYLE
::cue { color: red }

NOTE
not this

intro
00:01.000 --> 00:02.000 align:start
<v Fred>Hi <c.big>you</c> &amp; <00:01.500>me

00:00:03.000 --> 00:00:04.000
Bye
"""


def test_srt():
    document = assert_stays(read_srt, SRT.encode())
    opened, closed = Mark(0, Role.OPEN), Mark(0, Role.CLOSE)
    assert parts_of(document) == [
        (opened, "Hello there, my", closed, " friend."),
        ("Who & <3?",),
        ("Nobody.",),
        ("你好，世界。",),
    ]
    assert [segment.place for segment in document.segments] == ["line 3", "line 8", "line 9", "line 12"]
    written = document.written([changed(parts, str.upper) for parts in parts_of(document)]).decode()
    assert written == (
        SRT.replace("Hello there,\r\nmy</i> friend", "HELLO THERE, MY</i> FRIEND")
        .replace("Who", "WHO")
        .replace("Nobody", "NOBODY")
    )


def test_vtt():
    document = assert_stays(read_vtt, VTT.encode())
    opened, closed, alone = Mark(0, Role.OPEN), Mark(0, Role.CLOSE), Mark(1, Role.ALONE)
    assert parts_of(document) == [("Hi ", opened, "you", closed, " & ", alone, "me"), ("Bye",)]
    written = document.written([(alone, "a<b ", opened, "--> c", closed), None]).decode()
    wanted = "<v Fred><00:01.500>a&lt;b <c.big>--&gt; c</c>"
    assert written == VTT.replace("<v Fred>Hi <c.big>you</c> &amp; <00:01.500>me", wanted)


def test_a_long_text_gets_more_lines():
    document = reading(read_srt, "1\n00:00:01,000 --> 00:00:02,500\nShort.\n")
    english = "one two three four five six seven eight nine ten eleven twelve"
    assert document.written([(english,)]).decode().split("\n")[2:] == [
        "one two three four five six seven",
        "eight nine ten eleven twelve",
        "",
    ]
    chinese = "字" * 20 + "，" + "字" * 20 + "。"
    assert document.written([(chinese,)]).decode().split("\n")[2:] == ["字" * 20 + "，", "字" * 20 + "。", ""]


def test_tags_that_a_translation_invents_are_text():
    document = reading(read_srt, "1\n00:00:01,000 --> 00:00:02,500\nShort.\n")
    written = document.written([("a <b> {\\an8} --> <3",)]).decode()
    assert written.split("\n")[2] == "a < b> { \\an8} -> <3"


@pytest.mark.parametrize(("read", "text"), [(read_srt, "Hello\n"), (read_vtt, "Hello\n"), (read_vtt, "")])
def test_no_subtitles(read, text: str):
    with pytest.raises(DataError) as raised:
        reading(read, text, "film.srt")
    assert raised.value.code == "D182"
    assert "film.srt" in raised.value.what


def test_an_empty_file_has_no_cues():
    assert parts_of(assert_stays(read_srt, b"")) == []


LINES = some.sampled_from(
    [
        "1",
        "00:00:01,000 --> 00:00:02,500",
        "00:01.000 --> 00:02.000 x",
        "",
        "- a",
        "<i>b",
        "c</i>",
        "你",
        "NOTE",
        "<",
        "{\\",
    ]
)


@given(some.text() | some.lists(LINES | some.text(max_size=5)).map("\n".join), some.booleans())
def test_any_text_stays(text: str, is_web: bool):
    start = "WEBVTT\n" if is_web else "1\n00:00:01,000 --> 00:00:02,500\n"
    assert_stays(read_vtt if is_web else read_srt, (start + text).encode(errors="replace"))


@given(some.data(), some.booleans())
def test_any_translation(data: some.DataObject, is_web: bool):
    read, head = (read_vtt, "WEBVTT\n\n") if is_web else (read_srt, "1\n")
    times = "00:00:01.000 --> 00:00:02.500"
    text = f"{head}{times}\n<i>a</i> b\n<b>c <u>d</u></b> e\n\n{times}\nf\n"
    document = reading(read, text)
    texts = TEXTS if is_web else TEXTS.filter(lambda text: not set(text) & set("<{->"))  # SubRip has no escapes
    translation = data.draw(arrangements(document.segments[0].parts, texts))
    again = reading(read, document.written([translation, None]).decode())
    wanted = changed(renumbered(translation), lambda part: part)
    assert [without_edges(parts) for parts in parts_of(again)] == [without_edges(wanted), ["f"]]


def without_edges(parts: tuple[str | Mark, ...]) -> list[object]:
    """The texts without spaces at their edges and at Chinese characters, where lines may be cut."""
    return [part if isinstance(part, Mark) else "".join(part.split()) for part in parts if part != " "]


@pytest.mark.slow  # seconds each
@pytest.mark.parametrize("unit", ["<", "{", "{\\", "<a", "<1", "<i>", "</b><i>", "a ", "字", "-->", "- "])
def test_long_input(unit: str):
    """250 kB; what takes quadratic time would reach the tests' time limit."""
    content = ("1\n00:00:01,000 --> 00:00:02,500\n" + unit * (250_000 // len(unit))).encode()
    document = assert_stays(read_srt, content)
    document.written([(*segment.parts, " more") for segment in document.segments])


@given(TEXTS)
def test_lines_of_a_translation_are_cut_between_words(text: str):
    document = reading(read_vtt, "WEBVTT\n\n00:00:01.000 --> 00:00:02.500\nshort\nlines\n")
    words = " ".join(f"{text} word".split()) * 5
    again = reading(read_vtt, document.written([(words,)]).decode())
    assert plain(again.segments[0].parts) == one_line(words)
