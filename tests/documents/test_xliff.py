"""XLIFF 1.2 and 2.x: units, states, inline elements, and the file around them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

etree = pytest.importorskip("lxml.etree", reason="needs lxml (the extra documents)")

from documents.shuffled import translations  # noqa: E402
from openwork.base.errors import DataError  # noqa: E402
from openwork.documents.document import Document, DocumentSettings  # noqa: E402
from openwork.documents.formats.xliff import read_xliff  # noqa: E402
from openwork.documents.segments import Mark, Role, plain  # noqa: E402

SETTINGS = DocumentSettings("en", "de")
PATH = Path("a.xlf")
OLD = """<?xml version='1.0' encoding="UTF-8"?>
<!-- before --><?keep me?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2" xmlns:own="urn:own">
 <file original="a" source-language="en" datatype="html"><body>
  {}
 </body></file>
</xliff>
<!-- behind -->
"""
NEW = """<xliff version="2.1" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0">
 <file id="f"><unit id="u1">
  {}
 </unit></file>
</xliff>"""
OLD_INLINE = """<trans-unit id="1"><source>A
 <g id="1">bold <x id="2"/></g> <bpt id="3">&lt;i></bpt>word
 <ept id="3">&lt;/i></ept> <bx id="4" rid="9"/>x<ex id="5" rid="9"/> <ph id="6">%s</ph>
 <mrk mtype="protected" mid="7">code</mrk></source></trans-unit>"""
NEW_INLINE = """<segment id="s1"><source>A <pc id="1">bold <ph id="2"/></pc> <sc id="3"/>word<ec startRef="3"/>
 <cp hex="0001"/>
 <mrk id="m1" translate="no">code</mrk>
 <mrk id="m2" type="term">term</mrk> <sc id="8" isolated="yes"/></source></segment>"""


def read(text: str) -> Document:
    return read_xliff(text.encode(), PATH, SETTINGS)


def old(source: str, target: str = "", more: str = "") -> str:
    return OLD.format(f"<trans-unit id='1'{more}><source>{source}</source>{target}</trans-unit>")


def new(source: str, target: str = "", more: str = "") -> str:
    return NEW.format(f"<segment{more}><source>{source}</source>{target}</segment>")


def test_a_unit_of_the_old_version_worked_by_hand() -> None:
    document = read(old('Press <g id="1">OK</g><x id="2"/> now', "<note>n</note>"))
    (segment,) = document.segments
    assert segment.parts == (
        "Press ",
        Mark(0, Role.OPEN),
        "OK",
        Mark(0, Role.CLOSE),
        Mark(1, Role.ALONE),
        " now",
    )
    assert (segment.place, segment.current, segment.is_translated) == ("line 5, unit 1", (), False)
    translation = (Mark(1, Role.ALONE), "Jetzt ", Mark(0, Role.OPEN), "O<K", Mark(0, Role.CLOSE))
    written = document.written([translation]).decode()
    target = '<target state="translated"><x id="2"/>Jetzt <g id="1">O&lt;K</g></target><note>n</note>'
    assert f'<source>Press <g id="1">OK</g><x id="2"/> now</source>{target}' in written
    assert written.startswith(OLD[: OLD.index("<xliff")]) and written.endswith("</xliff>\n<!-- behind -->\n")
    assert 'source-language="en" datatype="html" target-language="de"' in written


def test_a_segment_of_the_new_version_worked_by_hand() -> None:
    document = read(new('Press <pc id="1">OK</pc>', "", ' id="s1" state="initial" subState="a:b"'))
    (segment,) = document.segments
    assert segment.parts == ("Press ", Mark(0, Role.OPEN), "OK", Mark(0, Role.CLOSE))
    written = document.written([segment.parts]).decode()
    assert '<segment id="s1" state="translated"><source>' in written
    assert '<target>Press <pc id="1">OK</pc></target></segment>' in written
    assert 'trgLang="de"' in written


@pytest.mark.parametrize("text", [OLD.format(OLD_INLINE), NEW.format(NEW_INLINE)])
def test_each_kind_of_inline_element(text: str) -> None:
    (segment,) = read(text).segments
    roles = [part.role for part in segment.parts if isinstance(part, Mark)]
    marks = [part.text for part in segment.parts if isinstance(part, Mark) and part.text]
    assert marks == ["code"]
    if "trans-unit" in text:
        assert (roles.count(Role.OPEN), roles.count(Role.CLOSE), roles.count(Role.ALONE)) == (3, 3, 3)
    else:
        assert (roles.count(Role.OPEN), roles.count(Role.CLOSE), roles.count(Role.ALONE)) == (3, 3, 4)


@pytest.mark.parametrize("text", [OLD.format(OLD_INLINE), NEW.format(NEW_INLINE)])
def test_the_own_parts_as_translation_give_the_content_of_the_source(text: str) -> None:
    document = read(text)
    written = document.written([segment.parts for segment in document.segments])
    (source,), (target,) = (etree.fromstring(written).findall(f".//{{*}}{name}") for name in ("source", "target"))
    inside = [etree.tostring(side, method="c14n").partition(b">")[2].rpartition(b"<")[0] for side in (source, target)]
    assert inside[0] == inside[1]
    (again,) = read_xliff(written, PATH, SETTINGS).segments
    assert again.current == again.parts == document.segments[0].parts
    assert again.is_translated  # by its state, though it is its source
    assert document.written([None]) == text.encode()


@pytest.mark.parametrize("text", [OLD.format(OLD_INLINE), NEW.format(NEW_INLINE)])
@given(data=st.data())
def test_marks_in_any_order_come_back(text: str, data: st.DataObject) -> None:
    document = read(text)
    translation = data.draw(translations(document.segments[0].parts))
    written = document.written([translation])
    (again,) = read_xliff(written, PATH, SETTINGS).segments
    assert again.current == translation
    assert again.parts == document.segments[0].parts


@pytest.mark.parametrize(
    ("text", "is_final"),
    [
        (old("a", "<target>b</target>"), True),
        (old("a", "<target>a</target>"), False),
        (old("a", "<target/>"), False),
        (old("a", "<target state='needs-review-translation'>b</target>"), False),
        (old("a", "<target state='signed-off'>a</target>"), True),
        (old("a", "<target state='new'>a</target>", " approved='yes'"), True),
        (new("a", "<target>a</target>"), True),
        (new("a", "<target>b</target>", " state='initial'"), False),
        (new("a", "<target>b</target>", " state='reviewed'"), True),
        (new("a", "<target> </target>", " state='final'"), False),
    ],
)
def test_which_translations_are_final(text: str, is_final: bool) -> None:
    (segment,) = read(text).segments
    assert segment.is_translated is is_final


def test_what_is_not_to_be_translated_stays() -> None:
    units = """<group translate="no"><trans-unit id="1"><source>a</source></trans-unit>
    <trans-unit id="2" translate="yes"><source>b</source></trans-unit></group>
    <trans-unit id="3" translate="no"><source>c</source></trans-unit>
    <trans-unit id="4"><source> <x id="1"/> </source></trans-unit>
    <trans-unit id="5"><source>d</source><alt-trans><source>e</source><target>f</target></alt-trans></trans-unit>"""
    assert [segment.text for segment in read(OLD.format(units)).segments] == ["b", "d"]


def test_an_older_target_is_replaced_where_it_is_and_what_was_said_of_it_goes() -> None:
    document = read(old(" a\n ", "\n  <target state='new' state-qualifier='exact-match' own:x='1'>A</target>"))
    (segment,) = document.segments
    assert (segment.parts, segment.current) == (("a",), ("A",))
    assert '<source> a\n </source>\n  <target state="translated" own:x="1"> b\n </target>' in document.written(
        [("b",)]
    ).decode().replace(' own:x="1" state="translated"', ' state="translated" own:x="1"')


def test_a_target_follows_the_sentences_that_a_source_was_cut_into() -> None:
    cut = '<seg-source><mrk mtype="seg" mid="1">A.</mrk> <mrk mtype="seg" mid="2">B.</mrk></seg-source>'
    document = read(old("A. B.", cut))
    (segment,) = document.segments
    written = document.written([segment.parts]).decode()
    assert cut + '<target state="translated">' + cut[len("<seg-source>") : -len("</seg-source>")] in written


def test_sections_of_cdata_comments_and_windows_lines_stay() -> None:
    text = OLD.format('<trans-unit id="1"><source><![CDATA[<b>]]> &amp; c</source><!-- n --></trans-unit>')
    text = text.replace("\n", "\r\n")
    document = read(text)
    assert document.segments[0].text == "<b> & c"
    written = document.written([("d\x00\x0be",)]).decode()
    assert "<![CDATA[<b>]]>" in written and "<!-- n -->" in written
    assert written.count("\r\n") == written.count("\n") >= text.count("\n")
    assert ">de</target>" in written  # XML has no control characters


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1"])
def test_encodings_stay(encoding: str) -> None:
    declared = {"utf-8-sig": "UTF-8", "utf-16-le": "UTF-16"}.get(encoding, encoding)
    text = old("Grüße").replace("UTF-8", declared)
    content = text.encode(encoding)
    document = read_xliff(content, PATH, SETTINGS)
    assert document.segments[0].text == "Grüße"
    written = document.written([("größer 中",)])
    assert written[: text.index("<xliff")] == content[: text.index("<xliff")]
    assert read_xliff(written, PATH, SETTINGS).segments[0].current == ("größer 中",)
    assert etree.fromstring(written).xpath("string(//*[local-name() = 'target'])") == "größer 中"


def test_an_independent_reader_sees_the_translations_of_the_old_version() -> None:
    xliff = pytest.importorskip("translate.storage.xliff", reason="needs translate-toolkit")
    document = read(OLD.format("<trans-unit id='1'><source>a &lt; b</source></trans-unit>" + OLD_INLINE))
    written = document.written([("A < B",), document.segments[1].parts])
    first, second = xliff.xlifffile.parsestring(written).units
    assert (first.source, first.target) == ("a < b", "A < B")
    assert str(second.target) == str(second.source)


def test_an_independent_reader_sees_the_translations_of_the_new_version() -> None:
    xliff2 = pytest.importorskip("translate.storage.xliff2", reason="needs translate-toolkit with XLIFF 2")
    document = read(new("a &lt; b"))
    (unit,) = xliff2.Xliff2File.parsestring(document.written([("A < B",)])).units
    assert (str(unit.source), str(unit.target)) == ("a < b", "A < B")


@pytest.mark.parametrize("count", [2_000, 2_001])
def test_a_text_of_too_many_marks(count: int) -> None:
    text = old("a" + "<x id='1'/>" * count, "<target>b</target>")
    if count == 2_000:
        assert len(read(text).segments[0].parts) == 2_001
        return
    with pytest.raises(DataError) as error:
        read(text)
    assert error.value.code == "D175"


def test_writings_know_nothing_of_each_other() -> None:
    document = read(old("a"))
    first = document.written([("b",)])
    document.written([("c",)])
    assert document.written([("b",)]) == first
    assert plain(document.segments[0].parts) == "a"
