"""TMX: languages, inline tags, and units that lack a side."""

from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.readers.exchange import read_tmx
from openwork.data.records import UNSAID, Languages, Pair, Skipped

EN_DE = Languages("en", "de")


def variant(language: str, segment: str) -> str:
    return f'<tuv xml:lang="{language}"><prop type="x">p</prop><seg>{segment}</seg></tuv>'


def tmx(*units: str, source: str = "en-US") -> str:
    body = "".join(f"<tu>{unit}</tu>\n" for unit in units)
    header = f'<header srclang="{source}" datatype="xml"><note>old</note></header>'
    return f'<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">{header}\n{body}</tmx>\n'


def read(folder: Path, text: str | bytes, languages: Languages = UNSAID) -> list[Pair | Skipped]:
    path = folder / "memory.tmx"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_tmx(path, languages))


DOG = variant("en-US", "dog") + variant("de_DE", "Hund")
CAT = variant("DE-de", "Katze") + variant("EN-us", "cat")


def test_the_header_names_the_source_and_the_order_within_a_unit_is_free(tmp_path: Path) -> None:
    assert read(tmp_path, tmx(DOG, CAT)) == [("dog", "Hund"), ("cat", "Katze")]
    assert read(tmp_path, tmx(DOG, CAT, source="de-DE")) == [("Hund", "dog"), ("Katze", "cat")]


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (Languages("en", "de"), ("dog", "Hund")),
        (Languages("de", "en"), ("Hund", "dog")),
        (Languages("en-GB", "fr"), ("hound", "chien")),
        (Languages("fr", "en-gb"), ("chien", "hound")),
    ],
)
def test_languages_choose_the_variants(tmp_path: Path, languages: Languages, pair: tuple[str, str]) -> None:
    many = DOG + variant("fr", "chien") + variant("en-GB", "hound")
    assert read(tmp_path, tmx(many, source="*all*"), languages) == [pair]


def test_one_language_given_tells_the_other(tmp_path: Path) -> None:
    for languages in (Languages("de", None), Languages(None, "en")):
        assert read(tmp_path, tmx(DOG), languages) == [("Hund", "dog")]
        assert read(tmp_path, tmx(DOG, source="*all*"), languages) == [("Hund", "dog")]


def test_the_older_attribute_and_blank_segments(tmp_path: Path) -> None:
    unit = '<tuv lang="en"><seg>dog</seg></tuv><tuv lang="de"><seg/></tuv>'
    assert read(tmp_path, tmx(unit), EN_DE) == [("dog", "")]


def test_a_unit_without_a_side_is_counted_with_its_line(tmp_path: Path) -> None:
    found = read(tmp_path, tmx(DOG, variant("en", "alone"), CAT), EN_DE)
    assert found == [("dog", "Hund"), Skipped("no segment in de", 5), ("cat", "Katze")]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('press <bpt i="1">&lt;b></bpt>OK<ept i="1">&lt;/b></ept>', "press <b>OK</b>"),
        ('<ph x="2">%s</ph> files', "%s files"),
        ('line<ph x="2"/>break', 'line<ph x="2"/>break'),
        ('a <hi type="bold">loud</hi> word', "a loud word"),
        ('<it pos="begin">{\\i</it>x<ut>}</ut>', "{\\ix}"),
        ('<ph x="1">[<sub>Title</sub>]</ph>', "[Title]"),
        ("\n   two\n   lines  \n", "two lines"),
        ("&amp; &lt;&#20013;&gt; <![CDATA[<raw>]]>", "& <中> <raw>"),
    ],
)
def test_tags_within_a_segment(tmp_path: Path, segment: str, text: str) -> None:
    assert read(tmp_path, tmx(variant("en", segment) + variant("de", "x")), EN_DE) == [(text, "x")]


def test_utf16_is_read_as_the_file_declares_it(tmp_path: Path) -> None:
    text = tmx(DOG.replace("Hund", "Hündin")).replace('version="1.0"', 'version="1.0" encoding="UTF-16"')
    assert read(tmp_path, text.encode("utf-16")) == [("dog", "Hündin")]


@pytest.mark.slow
def test_a_large_memory_streams(tmp_path: Path) -> None:
    path = tmp_path / "memory.tmx"
    path.write_text(tmx(*[DOG] * 5_000)[:-20])  # the fault at its end is not met before
    pairs = read_tmx(path)
    assert next(pairs) == ("dog", "Hund")
    with pytest.raises(DataError, match=r"memory.tmx:500[0-9]: the file is not well-formed XML"):
        for _ in pairs:
            pass


@pytest.mark.parametrize(
    ("text", "languages", "message"),
    [
        (tmx(DOG + variant("fr", "chien")), UNSAID, "memory.tmx:4: which language is the source"),
        (tmx(DOG, source="*all*"), UNSAID, "memory.tmx:4: which language is the source"),
        (tmx(DOG, variant("en-US", "x") + variant("fr", "y")), UNSAID, "memory.tmx:5: which language is the source"),
        (tmx("<tuv><seg>x</seg></tuv>"), EN_DE, "memory.tmx:4: the variant has no language"),
        (tmx(variant("en", "x" * 1_000_001)), EN_DE, "memory.tmx:4: the text is longer than 1,000,000"),
        ("<xliff/>", EN_DE, "memory.tmx:1: the outermost element is <xliff>, not <tmx>"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, text: str, languages: Languages, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, text, languages)
    assert caught.value.hint
