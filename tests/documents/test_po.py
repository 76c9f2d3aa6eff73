"""Catalogues of gettext: entries, plural forms, fuzzy ones, and lines that stay as they are."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

polib = pytest.importorskip("polib", reason="needs polib (the extra documents)")

import openwork  # noqa: E402
from openwork.base.errors import DataError  # noqa: E402
from openwork.documents.document import Document, DocumentSettings  # noqa: E402
from openwork.documents.formats.po import read_po  # noqa: E402

PATH = Path("a.po")
SETTINGS = DocumentSettings("en", "de")
HEADER = """# Title
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals={}; plural=0;\\n"
"""
ENTRIES = """
#  odd   comment
#. generated
#: a.c:1  b.c:2
#, fuzzy, c-format
#| msgid "Hello, %s"
msgctxt "menu"
msgid   "Hello %s\\n"
msgstr  "Hallo %s\\n"

msgid "a long text that is not"
" wrapped as gettext does"
msgstr "kept "
"as it is"

#,fuzzy
msgid "one file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "gone"
#~ msgstr "weg"
"""


def read(text: str) -> Document:
    return read_po(text.encode(), PATH, SETTINGS)


def test_entries_worked_by_hand() -> None:
    text = HEADER.format(2) + ENTRIES
    document = read(text)
    found = [(segment.text, segment.current, segment.is_translated, segment.place) for segment in document.segments]
    assert found == [
        ("Hello %s", ("Hallo %s",), False, "line 13"),
        ("a long text that is not wrapped as gettext does", ("kept as it is",), True, "line 16"),
        ("one file", (), False, "line 22"),
        ("%d files", (), False, "line 22"),
    ]
    written = document.written([('Tag "%s"',), None, ("eine Datei",), ("%d Dateien",)]).decode()
    expected = text.replace("#, fuzzy, c-format\n", "#, c-format\n").replace('#| msgid "Hello, %s"\n', "")
    expected = expected.replace('msgstr  "Hallo %s\\n"', 'msgstr "Tag \\"%s\\"\\n"').replace("#,fuzzy\n", "")
    expected = expected.replace('[0] ""', '[0] "eine Datei"').replace('[1] ""', '[1] "%d Dateien"')
    assert written == expected
    assert document.written([None] * 4) == text.encode()


@pytest.mark.parametrize(("count", "forms"), [(1, ["n"]), (2, ["1", "n"]), (4, ["1", "n", "n", "n"])])
def test_every_plural_form_gets_a_translation(count: int, forms: list[str]) -> None:
    document = read(HEADER.format(count) + '\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\n')
    texts = [segment.text for segment in document.segments]
    assert texts == (["b"] if count == 1 else ["a", "b"])
    written = document.written([("n",)] if count == 1 else [("1",), ("n",)])
    (entry,) = polib.pofile(written.decode())
    assert entry.msgstr_plural == dict(enumerate(forms))


def test_an_entry_that_is_translated_in_part_stays_fuzzy() -> None:
    document = read(HEADER.format(2) + ENTRIES.replace("#,fuzzy", "#, fuzzy"))  # polib wants the blank
    *_, entry, gone = polib.pofile(document.written([None, None, ("eine",), None]).decode())
    assert (entry.msgstr_plural, entry.fuzzy, gone.obsolete) == ({0: "eine", 1: ""}, True, 1)


def test_a_template_becomes_utf8_with_windows_lines() -> None:
    text = (HEADER.format(2).replace("UTF-8", "CHARSET") + '\nmsgid ""\n"a"\nmsgstr ""').replace("\n", "\r\n")
    written = read(text).written([("ä\nb",)]).decode()
    assert written == text.replace("CHARSET", "UTF-8")[: -len('msgstr ""')] + 'msgstr ""\r\n"ä\\n"\r\n"b"'


@given(text=st.text(min_size=1), source=st.text(min_size=1))
def test_any_text_comes_back(text: str, source: str) -> None:
    """polib's own reader is independent of our lines; it ends lines of a text at more characters than gettext does."""
    escaped = polib.escape(source)
    if "\r" in escaped or not source.strip():
        return
    catalogue = HEADER.format(2) + f'\nmsgid "{escaped}"\nmsgstr ""\n# behind\n'
    document = read(catalogue)
    assert [segment.text for segment in document.segments] == [source.strip()]
    (again,) = read(document.written([(text,)]).decode()).segments
    assert again.current == ((text.strip(),) if text.strip() else ())


def test_a_mark_of_utf8_stays() -> None:
    content = b'\xef\xbb\xbfmsgid "a"\nmsgstr ""\n'
    assert read_po(content, PATH, SETTINGS).written([("b",)]) == content.replace(b'""', b'"b"')


def test_a_text_that_is_the_name_of_a_file_opens_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text('msgid "secret"\nmsgstr ""\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError):
        read_po(b"secret", PATH, SETTINGS)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("<html>", "D180", ":1"),
        ('msgid "a"\nmsgstr "b', "D180", ":2"),
        ('msgid "a"\nmsgstr "b"c"', "D180", ":2"),
        ('msgid "a"\nmsgid "b"\nmsgstr ""', "D180", ":2"),
        ('msgid "a"\n', "D180", ":1"),
        ('msgstr "a"\n', "D180", ":1"),
        ('msgid "a"\nmsgstr ""\n' + '"b"\n' * 3000, "D180", ":1"),
        (f'msgid "a"\nmsgstr "{"b" * 300_000}"\n', "D180", ":1"),
        (HEADER.format(2).replace("UTF-8", "ISO-8859-1"), "D181", ""),
        (b'msgid "\xff"\nmsgstr ""', "D169", ":1"),
    ],
)
def test_what_is_no_catalogue(text: str | bytes, code: str, line: str) -> None:
    with pytest.raises(DataError) as error:
        read_po(text if isinstance(text, bytes) else text.encode(), PATH, SETTINGS)
    assert error.value.code == code and str(error.value).startswith(f"a.po{line}:")


@given(st.text('msgidtr[]01 #~,.:|"\\\n\rx', max_size=60))
def test_damaged_catalogues_are_refused_or_read(text: str) -> None:
    try:
        document = read(text)
    except DataError:
        return
    written = document.written([("y",) for _ in document.segments]).decode()
    assert [segment.current for segment in read(written).segments] == [("y",)] * len(document.segments)


def test_an_independent_reader_sees_the_translations() -> None:
    pypo = pytest.importorskip("translate.storage.pypo", reason="needs translate-toolkit")
    written = read(HEADER.format(2) + ENTRIES).written([('Tag "%s"',), None, ("eine",), ("%d viele",)])
    units = [unit for unit in pypo.pofile.parsestring(written).units if not unit.isheader()]
    assert [str(unit.target) for unit in units] == ['Tag "%s"\n', "kept as it is", "eine", "weg"]
    assert [unit.isfuzzy() for unit in units] == [False] * 4
    assert units[2].target.strings == ["eine", "%d viele"]


def test_a_real_catalogue_keeps_all_lines_that_get_no_translation() -> None:
    """The catalogue of our own messages."""
    path = Path(openwork.__file__).parent / "locale" / "zh" / "LC_MESSAGES" / "openwork.po"
    content = path.read_bytes()
    document = read_po(content, path, SETTINGS)
    count = len(document.segments)
    assert count > 1000 and all(segment.is_translated for segment in document.segments)
    written = document.written([segment.current if n % 2 else None for n, segment in enumerate(document.segments)])
    before, after = (polib.pofile(text.decode()) for text in (content, written))
    texts = [[(entry.msgid, entry.msgstr.strip(), entry.msgstr_plural) for entry in file] for file in (before, after)]
    assert texts[0] == texts[1]  # blanks at the edges are those of the source now
    all_but_targets = [[line for line in text.splitlines() if line[:1] != b'"'] for text in (content, written)]
    assert [len(lines) for lines in all_but_targets] == [len(all_but_targets[0])] * 2


@pytest.mark.slow
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.long)])
def test_the_texts_of_pythons_documentation(openwork_data: Callable[[str], Path], every: int) -> None:
    """A catalogue of 43,581 real paragraphs, or a fifth of them, made by polib: read, written and read by it again."""
    folder = openwork_data("python-docs-en-zh")
    sources, targets = (
        gzip.decompress((folder / f"python-docs.{language}.gz").read_bytes()).decode().splitlines()[::every]
        for language in ("en", "zh")
    )
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    catalogue.extend(polib.POEntry(msgid=source, occurrences=[("a.rst", "1")]) for source in sources)
    document = read_po(str(catalogue).encode(), PATH, SETTINGS)
    assert [segment.text for segment in document.segments] == [source.strip() for source in sources]
    written = document.written([(target,) for target in targets])
    assert [entry.msgstr.strip() for entry in polib.pofile(written.decode())] == [line.strip() for line in targets]
