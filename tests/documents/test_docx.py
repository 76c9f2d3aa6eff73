"""Word documents: python-docx makes them and reads what is written."""

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lxml.etree", reason="needs lxml (the extra documents)")
docx = pytest.importorskip("docx", reason="needs python-docx")

from documents.shuffled import translations  # noqa: E402
from openwork.base.errors import DataError  # noqa: E402
from openwork.documents import archive  # noqa: E402
from openwork.documents.document import Document, DocumentSettings  # noqa: E402
from openwork.documents.formats.docx import read_docx  # noqa: E402
from openwork.documents.segments import Mark, Role, plain  # noqa: E402

PATH = Path("a.docx")
SETTINGS = DocumentSettings("en", "de")
SPACE = 'xml:space="preserve"'


def saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def opened(content: bytes) -> Any:
    return docx.Document(io.BytesIO(content))


def read(content: bytes) -> Document:
    return read_docx(content, PATH, SETTINGS)


def with_part(name: str, content: bytes, base: bytes | None = None) -> bytes:
    """A document with another content of an entry."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(base or saved(docx.Document()))) as old, zipfile.ZipFile(packed, "w") as new:
        for info in old.infolist():
            new.writestr(info, content if info.filename == name else old.read(info))
        if name not in old.namelist():
            new.writestr(name, content)
    return packed.getvalue()


def body(paragraphs: str) -> bytes:
    """A document with these paragraphs, in XML."""
    spaces = " ".join(
        f'xmlns:{prefix}="http://schemas.openxmlformats.org/{name}"'
        for prefix, name in (
            ("w", "wordprocessingml/2006/main"),
            ("r", "officeDocument/2006/relationships"),
            ("m", "officeDocument/2006/math"),
        )
    )
    text = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:document {spaces}><w:body>{paragraphs}'
    return with_part("word/document.xml", (text + "</w:body></w:document>").encode())


def main_part(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        text = file.read("word/document.xml").decode()
    return text.partition("<w:body>")[2].rpartition("</w:body>")[0]


def run(text: str, properties: str = "") -> str:
    inner = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f"<w:r>{inner}<w:t {SPACE}>{text}</w:t></w:r>"


def field(instruction: str, result: str) -> str:
    characters = [f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")]
    code = f"<w:r><w:instrText {SPACE}> {instruction} </w:instrText></w:r>"
    return characters[0] + code + characters[1] + result + characters[2]


def test_a_paragraph_worked_by_hand() -> None:
    made = docx.Document()
    paragraph = made.add_paragraph("Press ")
    paragraph.add_run("OK").bold = True
    paragraph.add_run(" to\tgo on")
    document = read(saved(made))
    (segment,) = document.segments
    assert segment.parts == (
        "Press ",
        Mark(0, Role.OPEN),
        "OK",
        Mark(0, Role.CLOSE),
        " to",
        Mark(1, Role.ALONE, "\t"),
        "go on",
    )
    assert segment.place == "paragraph 1" and segment.text == "Press OK to\tgo on"
    german = ("Weiter", Mark(1, Role.ALONE, "\t"), "mit ", Mark(0, Role.OPEN), "O & K", Mark(0, Role.CLOSE))
    (written,) = opened(document.written([german])).paragraphs
    assert [(run.text, run.bold) for run in written.runs] == [
        ("Weiter", None),
        ("\t", None),
        ("mit ", None),
        ("O & K", True),
    ]


def test_all_parts_of_a_document() -> None:
    made = docx.Document()
    made.add_heading("Title", 1)
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    made.sections[0].header.paragraphs[0].text = "head"
    made.sections[0].footer.paragraphs[0].text = "foot"
    made.add_picture(io.BytesIO(_picture()))
    paragraph = made.add_paragraph("seen")
    made.add_comment(paragraph.runs, text="remark", author="me")
    content = saved(made)
    document = read(content)
    assert {segment.text for segment in document.segments} == {
        "Title",
        "left",
        "right",
        "head",
        "foot",
        "seen",
        "remark",
    }
    written = document.written(
        [(segment.text.upper(),) if segment.text != "seen" else None for segment in document.segments]
    )
    again = opened(written)
    assert [paragraph.text for paragraph in again.paragraphs] == ["TITLE", "", "seen"]
    assert [cell.text for cell in again.tables[0].row_cells(0)] == ["LEFT", "RIGHT"]
    assert again.sections[0].header.paragraphs[0].text == "HEAD"
    assert again.sections[0].footer.paragraphs[0].text == "FOOT"
    assert [comment.text for comment in again.comments] == ["REMARK"]
    assert len(again.inline_shapes) == 1
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(io.BytesIO(written)) as new:
        assert old.namelist() == new.namelist()
        changed = {name for name in old.namelist() if old.read(name) != new.read(name)}
    assert changed == {"word/document.xml", "word/comments.xml", "word/header1.xml", "word/footer1.xml"}
    assert document.written([None] * len(document.segments)) == content


def _picture() -> bytes:
    """One white pixel, as BMP."""
    head = struct.pack("<2sIHHI", b"BM", 58, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
    return head + b"\xff\xff\xff\0"


@pytest.mark.parametrize(
    ("paragraph", "parts"),
    [
        pytest.param(
            run("one ", '<w:b/><w:lang w:val="en-GB"/>') + "<w:proofErr/>" + run("text", "<w:b/>"),
            ("one text",),
            id="runs that differ in what nobody sees are one",
        ),
        pytest.param(
            '<w:bookmarkStart w:id="1" w:name="b"/>' + run("a ") + '<w:hyperlink r:id="r1">'
            + run("link", '<w:u w:val="x"/>') + "</w:hyperlink>" + '<w:bookmarkEnd w:id="1"/>' + run("!"),
            ("a ", Mark(0, Role.OPEN), "link", Mark(0, Role.CLOSE), Mark(1, Role.ALONE), "!"),
            id="a link is a pair, a bookmark at the edge no mark",
        ),
        pytest.param(
            run("Page ") + field("PAGE", run("7")) + run(" of")
            + field('HYPERLINK "x"', run("this ") + run("book", "<w:b/>")) + run("."),
            ("Page ", Mark(0, Role.ALONE, "7"), " of", Mark(1, Role.OPEN), "this ", Mark(2, Role.OPEN), "book",
             Mark(2, Role.CLOSE), Mark(1, Role.CLOSE), "."),
            id="a computed field stays, a link is text",
        ),
        pytest.param(
            run("keep ") + '<w:del w:id="1"><w:r><w:delText>old</w:delText></w:r></w:del><w:ins w:id="2">' + run("new")
            + "</w:ins>" + run(" word"),
            ("keep ", Mark(0, Role.ALONE), Mark(1, Role.OPEN), "new", Mark(1, Role.CLOSE), " word"),
            id="tracked changes",
        ),
        pytest.param(
            run("x") + '<w:r><w:rPr><w:b/></w:rPr><w:t>y</w:t><w:footnoteReference w:id="2"/><w:br/><w:t>z</w:t></w:r>'
            + run(" long text"),
            ("x", Mark(0, Role.OPEN), "y", Mark(1, Role.ALONE), Mark(2, Role.ALONE, "\n"), "z", Mark(0, Role.CLOSE),
             " long text"),
            id="a footnote and a line end within a format",
        ),
        pytest.param(
            "<w:sdt><w:sdtPr/><w:sdtContent>" + run("in") + "</w:sdtContent></w:sdt>" + run(" out")
            + "<m:oMath><m:r><m:t>x</m:t></m:r></m:oMath>"
            + '<w:fldSimple w:instr="DATE">' + run("today") + "</w:fldSimple>",
            (Mark(0, Role.OPEN), "in", Mark(0, Role.CLOSE), " out", Mark(1, Role.ALONE, "x"),
             Mark(2, Role.ALONE, "today")),
            id="content controls, formulas, simple fields",
        ),
        pytest.param(
            "<w:r><w:t> cut </w:t><w:noBreakHyphen/><w:softHyphen/><w:t>off</w:t></w:r>", ("cut\u2011off",), id="blanks"
        ),
        pytest.param(
            run("Contents ") + '<w:r><w:fldChar w:fldCharType="begin"/></w:r>' + run("tail"),
            ("Contents ", Mark(0, Role.ALONE), "tail"),
            id="a field that ends in another paragraph",
        ),
    ],
)  # fmt: skip
def test_what_becomes_a_mark(paragraph: str, parts: tuple[str | Mark, ...]) -> None:
    document = read(body(f"<w:p><w:pPr><w:jc/></w:pPr>{paragraph}</w:p>"))
    (segment,) = document.segments
    assert segment.parts == parts
    written = document.written([segment.parts])
    (again,) = read(written).segments
    assert again.parts == parts
    assert main_part(written).startswith("<w:p><w:pPr><w:jc/></w:pPr>")
    for kept in ("w:bookmarkStart", "w:bookmarkEnd", "w:footnoteReference", "w:delText", "w:fldChar", "instrText"):
        assert main_part(written).count(kept) == paragraph.count(kept)


def test_a_text_box_is_a_text_of_its_own() -> None:
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('inside')}</w:p></w:txbxContent></w:pict></w:r>"
    document = read(body(f"<w:p>{run('before ')}{box}{run('behind')}</w:p>"))
    assert [segment.text for segment in document.segments] == ["before behind", "inside"]
    outer = document.segments[0]
    written = document.written([(*outer.parts[1:], "X"), ("innen",)])
    assert [segment.text for segment in read(written).segments] == ["behindX", "innen"]
    assert [segment.text for segment in read(document.written([None, ("innen",)])).segments] == [
        "before behind",
        "innen",
    ]


RICH = body(
    f"<w:p>{run('some longer text ')}{run('bold', '<w:b/>')}<w:r><w:tab/></w:r>"
    f'<w:hyperlink w:anchor="x">{run("quite a link ")}{run("slanted", "<w:i/>")}</w:hyperlink>{run(" end")}'
    f"{field('PAGE', run('7'))}{run('.')}</w:p>"
)


@given(data=st.data())
def test_marks_in_any_order_keep_words_and_formats(data: st.DataObject) -> None:
    """python-docx sees each word in the format of the innermost mark around it."""
    document = read(RICH)
    (segment,) = document.segments
    marks = [part for part in segment.parts if isinstance(part, Mark)]
    bold, tab, link, slanted = (mark.key for mark in marks if mark.role is not Role.CLOSE and mark.text != "7")
    translation = data.draw(translations(segment.parts))
    (paragraph,) = opened(document.written([translation])).paragraphs
    wanted: list[tuple[str, str | None, bool]] = []
    opened_keys: list[int] = []
    for part in translation:
        if isinstance(part, str):
            formats = [{bold: "bold", slanted: "italic", link: None}[key] for key in opened_keys]
            wanted.append((part, formats[-1] if formats else None, link in opened_keys))
        elif part.role is Role.OPEN:
            opened_keys.append(part.key)
        elif part.role is Role.CLOSE:
            opened_keys.pop()
        else:
            wanted.append((part.text, None, link in opened_keys))
    found = []
    for element in paragraph._p.xpath(".//w:r[w:t or w:tab]"):
        one = docx.text.run.Run(element, paragraph)
        look = "bold" if one.bold else "italic" if one.italic else None
        found.append((one.text, look, bool(element.xpath("ancestor::w:hyperlink"))))
    assert found == wanted
    assert tab in {mark.key for mark in marks}


def test_a_document_of_word_itself() -> None:
    """The template of python-docx, which Word has saved, with a paragraph for each of its styles."""
    made = docx.Document()
    styles = [style for style in made.styles if style.type == docx.enum.style.WD_STYLE_TYPE.PARAGRAPH]
    for style in styles:
        made.add_paragraph(f"in {style.name}", style)
    document = read(saved(made))
    assert len(document.segments) == len(styles) > 30
    written = opened(document.written([(plain(segment.parts)[::-1],) for segment in document.segments]))
    assert [(p.text[::-1], p.style.name) for p in written.paragraphs] == [(f"in {s.name}", s.name) for s in styles]


def _bomb() -> bytes:
    return _deflated("word/bomb.xml", bytes(80 << 20))


def _deflated(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return packed.getvalue()


def _encrypted() -> bytes:
    content = bytearray(saved(docx.Document()))
    content[6] |= 1  # flag of the first entry
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def _damaged() -> bytes:
    content = bytearray(saved(docx.Document()))
    content[200:260] = bytes(60)
    return bytes(content)


def _twice() -> bytes:
    packed = io.BytesIO(saved(docx.Document()))
    with zipfile.ZipFile(packed, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("word/document.xml", b"<a/>")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: b"no archive", "D178", "not a zip file"),
        (lambda: saved(docx.Document())[:-30], "D178", "zip"),
        (lambda: b"\xd0\xcf\x11\xe0" + bytes(600), "D178", "encrypted"),
        (_encrypted, "D178", "encrypted"),
        (_damaged, "D178", ""),
        (_twice, "D178", "same name"),
        (lambda: with_part("../evil", b""), "D178", "leads out"),
        (lambda: with_part("word\\..\\..\\evil", b""), "D178", "leads out"),
        (lambda: with_part("/evil", b""), "D178", "leads out"),
        (lambda: _deflated("a", b"a"), "D178", "Content_Types"),
        (lambda: with_part("[Content_Types].xml", b"<Types/>"), "D178", "main part"),
        (_bomb, "D179", "bytes"),
        (lambda: with_part("word/document.xml", b"<w:document>"), "D173", ""),
        (lambda: with_part("word/document.xml", b'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>'), "D174", ""),
    ],
)
def test_what_is_no_word_document(make: Callable[[], bytes], code: str, words: str) -> None:
    content = make()
    with pytest.raises(DataError) as error:
        read(content)
    assert error.value.code == code and str(error.value).startswith("a.docx")
    assert words in error.value.why


def test_too_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_ENTRIES", 3)
    with pytest.raises(DataError) as error:
        read(saved(docx.Document()))
    assert error.value.code == "D179"


@given(st.integers(0, 36_000), st.integers(0, 255))
def test_a_changed_byte_gives_no_traceback(place: int, value: int) -> None:
    content = bytearray(RICH)
    content[place % len(content)] = value
    try:
        document = read(bytes(content))
    except DataError:
        return
    assert document.written([segment.parts for segment in document.segments])
