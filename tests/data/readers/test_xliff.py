"""XLIFF 1.2 and 2.0: units, states, directions, inline tags, and what is no unit though it looks like one."""

from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.readers.exchange import read_xliff
from openwork.data.records import UNSAID, Languages, Pair, Skipped

OLD = """<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:own="urn:own">
<file original="a" source-language="en-US" target-language="de-DE" datatype="html"><body>
{}
</body></file></xliff>
"""
NEW = """<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0"
 xmlns:mtc="urn:matches"><file id="f1"><unit id="u1"><originalData><data id="d1">&lt;br/&gt;</data></originalData>
{}
</unit></file></xliff>
"""


def read(folder: Path, text: str, languages: Languages = UNSAID) -> list[Pair | Skipped]:
    path = folder / "texts.xlf"
    path.write_text(text, encoding="utf-8")
    return list(read_xliff(path, languages))


def old(source: str, target: str | None, state: str = "") -> str:
    end = "" if target is None else f"<target{state}>{target}</target>"
    return f"<trans-unit id='1'><source>{source}</source>{end}<note>n</note></trans-unit>"


def new(source: str, target: str | None, state: str = "") -> str:
    end = "" if target is None else f"<target>{target}</target>"
    return f"<segment{state}><source>{source}</source>{end}</segment>"


@pytest.mark.parametrize(("document", "unit"), [(OLD, old), (NEW, new)])
def test_units_give_pairs_and_a_missing_target_a_blank(tmp_path: Path, document: str, unit) -> None:
    text = document.format("\n".join([unit("dog", "Hund"), unit("cat", None), unit("cow", "")]))
    assert read(tmp_path, text) == [("dog", "Hund"), ("cat", ""), ("cow", "")]


def test_targets_that_are_no_translation_are_counted(tmp_path: Path) -> None:
    units = [old("a", "a", " state='needs-translation'"), old("b", "B", " state='final'"), old("c", "", " state='new'")]
    assert read(tmp_path, OLD.format("\n".join(units))) == [
        Skipped("not translated (state needs-translation)", 4),
        ("b", "B"),
        ("c", ""),
    ]
    units = [new("a", "a", " state='initial'"), new("b", "B", " state='translated'")]
    assert read(tmp_path, NEW.format("\n".join(units))) == [Skipped("not translated (state initial)", 3), ("b", "B")]


def test_alternatives_and_what_lies_between_sentences_are_no_units(tmp_path: Path) -> None:
    inside = "<alt-trans><source>old</source><target>alt</target></alt-trans><own:source>x</own:source></trans-unit>"
    assert read(tmp_path, OLD.format(old("dog", "Hund").replace("</trans-unit>", inside))) == [("dog", "Hund")]
    around = "<mtc:matches><mtc:match><source>old</source><target>alt</target></mtc:match></mtc:matches>"
    ignorable = "<ignorable><source> </source></ignorable>"
    assert read(tmp_path, NEW.format(around + new("dog", "Hund") + ignorable)) == [("dog", "Hund")]


@pytest.mark.parametrize(
    ("languages", "pair"),
    [(Languages("en", "de"), ("dog", "Hund")), (Languages("de", "en"), ("Hund", "dog")), (UNSAID, ("dog", "Hund"))],
)
@pytest.mark.parametrize(("document", "unit"), [(OLD, old), (NEW, new)])
def test_a_file_can_be_read_backwards(tmp_path: Path, document: str, unit, languages: Languages, pair) -> None:
    assert read(tmp_path, document.format(unit("dog", "Hund")), languages) == [pair]


@pytest.mark.parametrize(
    ("inline", "text"),
    [
        ('a <g id="1" ctype="bold">b</g>', 'a <g id="1">b</g>'),
        ('a<x id="2" equiv-text="{x}"/>b', 'a<x id="2"/>b'),
        ('<bpt id="1">&lt;b&gt;</bpt>c<ept id="1">&lt;/b&gt;</ept>', "<b>c</b>"),
        ('<ph id="3"/>', '<ph id="3"/>'),
        ('<mrk mtype="seg" mid="1">one.</mrk> <mrk mtype="seg">two.</mrk>', "one. two."),
    ],
)
def test_tags_of_version_1(tmp_path: Path, inline: str, text: str) -> None:
    assert read(tmp_path, OLD.format(old(inline, inline))) == [(text, text)]


@pytest.mark.parametrize(
    ("inline", "text"),
    [
        ('a <pc id="1" dataRefStart="d1">b</pc>', 'a <pc id="1">b</pc>'),
        ('a<ph id="2" dataRef="d1"/>b', 'a<ph id="2"/>b'),
        ('<sc id="1"/>c<ec startRef="1"/>', '<sc id="1"/>c<ec startRef="1"/>'),
        ('bell<cp hex="0007"/>', 'bell<cp hex="0007"/>'),
        ('<sm id="m1"/>d<em startRef="m1"/>', "d"),
        ('<pc id="a&quot;&lt;">x</pc>', '<pc id="a&quot;&lt;">x</pc>'),
    ],
)
def test_tags_of_version_2(tmp_path: Path, inline: str, text: str) -> None:
    assert read(tmp_path, NEW.format(new(inline, inline))) == [(text, text)]


def test_other_languages_are_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"texts.xlf:3: from en-US to de-DE, where en to fr is wanted"):
        read(tmp_path, OLD.format(old("dog", "Hund")), Languages("en", "fr"))
