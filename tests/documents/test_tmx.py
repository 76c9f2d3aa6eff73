"""TMX: languages, units with and without a translation, inline elements."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lxml.etree", reason="needs lxml (the extra documents)")

from documents.shuffled import translations
from openwork.base.errors import DataError
from openwork.documents.document import DocumentSettings
from openwork.documents.formats.tmx import read_tmx
from openwork.documents.segments import Mark, Role, plain

PATH = Path("a.tmx")
GERMAN = DocumentSettings(None, "de")
TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" adminlang="en" datatype="html" segtype="sentence"/>
<body>
{}
</body></tmx>
"""
INLINE = """<tu><tuv xml:lang="en-US"><seg>A <bpt i="1" x="1">&lt;b></bpt>bold<ept i="1">&lt;/b></ept>
<ph x="2">%s</ph> <hi x="3">high <it pos="begin" x="4">&lt;i></it></hi></seg></tuv></tu>"""


def test_a_unit_worked_by_hand() -> None:
    unit = """<tu tuid="t1">
    <note>n</note>
    <tuv xml:lang="en-US">
      <seg>Press <hi x="1">OK</hi> </seg>
    </tuv>
    <tuv xml:lang="fr"><seg>f</seg></tuv>
</tu>"""
    document = read_tmx(TMX.format(unit).encode(), PATH, GERMAN)
    (segment,) = document.segments
    assert segment.parts == ("Press ", Mark(0, Role.OPEN), "OK", Mark(0, Role.CLOSE))
    assert (segment.place, segment.current, segment.is_translated) == ("line 5, unit t1", (), False)
    written = document.written([(Mark(0, Role.OPEN), "OK", Mark(0, Role.CLOSE), " drücken")]).decode()
    added = '</tuv>\n    <tuv xml:lang="de"><seg><hi x="1">OK</hi> drücken </seg></tuv>\n</tu>'
    assert written == TMX.format(unit.replace("</tuv>\n</tu>", added))


def test_units_that_have_the_language_are_translated() -> None:
    units = """<tu><tuv xml:lang="EN-us"><seg>a</seg></tuv><tuv xml:lang="de-AT"><seg>b</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg/></tuv><tuv lang="en_US"><seg>c</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>d</seg></tuv></tu>
<tu srclang="fr"><tuv xml:lang="fr"><seg>e</seg></tuv></tu>"""
    document = read_tmx(TMX.format(units).encode(), PATH, GERMAN)
    found = [(segment.text, segment.current, segment.is_translated) for segment in document.segments]
    assert found == [("a", ("b",), True), ("c", (), False), ("e", (), False)]
    written = document.written([None, ("C",), None]).decode()
    assert written == TMX.format(units.replace("<seg/>", "<seg>C</seg>"))
    assert document.written([None] * 3) == TMX.format(units).encode()


@given(data=st.data())
def test_marks_in_any_order_come_back(data: st.DataObject) -> None:
    document = read_tmx(TMX.format(INLINE).encode(), PATH, GERMAN)
    translation = data.draw(translations(document.segments[0].parts))
    (again,) = read_tmx(document.written([translation]), PATH, GERMAN).segments
    assert (again.current, again.is_translated) == (translation, bool(plain(translation).strip()))
    assert again.parts == document.segments[0].parts


def test_an_independent_reader_sees_the_translations() -> None:
    tmx = pytest.importorskip("translate.storage.tmx", reason="needs translate-toolkit")
    units = '<tu><tuv xml:lang="en"><seg>a &lt; b</seg></tuv></tu>'
    document = read_tmx(TMX.format(units).encode(), PATH, DocumentSettings("en", "de"))
    written = document.written([("A < B",)])
    (unit,) = tmx.tmxfile.parsestring(written, sourcelanguage="en", targetlanguage="de").units
    assert (unit.source, unit.target) == ("a < b", "A < B")


@pytest.mark.parametrize(
    ("text", "settings", "side"),
    [(TMX, DocumentSettings("en"), "target"), (TMX.replace("en-US", "*all*"), GERMAN, "source")],
)
def test_a_language_that_is_not_known(text: str, settings: DocumentSettings, side: str) -> None:
    with pytest.raises(DataError, match=f"a.tmx: .*the {side}") as error:
        read_tmx(text.format("<tu/>").encode(), PATH, settings)
    assert error.value.code == "D177"
