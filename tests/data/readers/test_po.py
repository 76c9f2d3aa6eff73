"""PO: entries, plural forms, what is passed over, and faults by line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.data.readers.po import read_po
from openwork.data.records import UNSAID, Languages, Pair, Skipped

HEADER = r"""
msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Language: %s\n"
"Content-Type: text/plain; charset=%s\n"

"""
ENTRIES = r"""# a translator's note
#. for the menu
#: src/file.c:7
#, c-format
msgctxt "menu"
msgid "Open %s\n"
msgstr "%s öffnen\n"

#, fuzzy, c-format
#| msgid "Save"
msgid "Save as"
msgstr "Speichern"

msgid "Not yet"
msgstr ""
msgid ""
"two "
"lines\tand a \"quote\" \\"
msgstr "zwei "

"Zeilen\303\251\x41"

#~ msgid "Gone"
#~ msgstr "Weg"
"""
PLURALS = r"""
msgid "one file"
msgid_plural "%d files"
msgstr[0] "einer"
msgstr[1] "wenige"
msgstr[2] "viele"
"""


def read(folder: Path, text: str, languages: Languages = UNSAID) -> list[Pair | Skipped]:
    path = folder / "de.po"
    path.write_text(text, encoding="utf-8")
    return list(read_po(path, languages))


def test_every_kind_of_entry(tmp_path: Path) -> None:
    assert read(tmp_path, HEADER % ("de", "UTF-8") + ENTRIES) == [
        Pair("Open %s", "%s öffnen"),
        Skipped("fuzzy", 18),
        Pair("Not yet", ""),
        Pair('two lines\tand a "quote" \\', "zwei ZeilenéA"),
        Skipped("obsolete", 30),
    ]


def test_every_plural_form_is_a_translation(tmp_path: Path) -> None:
    expected = [Pair("one file", "einer"), Pair("%d files", "wenige"), Pair("%d files", "viele")]
    assert read(tmp_path, PLURALS) == expected
    only_form = PLURALS.split("msgstr[1]")[0]
    assert read(tmp_path, only_form) == [Pair("one file", "einer"), Pair("%d files", "einer")]


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (UNSAID, Pair("dog", "Hund")),
        (Languages("en", "de"), Pair("dog", "Hund")),
        (Languages("de", "en"), Pair("Hund", "dog")),
        (Languages("de", "de-AT"), Pair("Hund", "dog")),
    ],
)
def test_a_catalogue_can_be_read_backwards(tmp_path: Path, languages: Languages, pair: Pair) -> None:
    text = HEADER % ("de_DE", "UTF-8") + 'msgid "dog"\nmsgstr "Hund"\n'
    assert read(tmp_path, text, languages) == [pair]


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")


@pytest.mark.slow
@given(pairs=st.lists(st.tuples(*[st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]))] * 2)))
def test_what_is_written_comes_back(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> None:
    pairs = [pair for pair in pairs if pair[0]]  # an empty msgid is the header's
    text = "".join(f'msgid "{escaped(a)}"\nmsgstr "{escaped(b)}"\n' for a, b in pairs)
    assert read(tmp_path_factory.mktemp("any"), text) == pairs


def test_a_text_may_be_as_long_as_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openwork.data.readers.po.MAX_LINE_CHARACTERS", 5)
    assert read(tmp_path, 'msgid "12345"\nmsgstr "123"\n"45"\n') == [("12345", "12345")]
    with pytest.raises(DataError, match=r"de\.po:1: the text is longer"):
        read(tmp_path, 'msgid "12345"\nmsgstr "123"\n"456"\n')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('msgid "a"\nmsgstr "b"\nmsgid "open\nmsgstr ""\n', 3, "neither a keyword and a text in quotes"),
        ('msgid "a"\nmsgstr "b"\n\nmsgid "c"\n', 4, "the entry has no msgstr"),
        ('msgid "a"\nmsgid "b"\nmsgstr "c"\n', 2, "the entry has no msgstr"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"\n', 3, "has this keyword already"),
        ('# note\nmsgstr "b"\n', 2, "a translation without its source"),
        ('"b"\n', 1, "its text has no keyword"),
        ('msgid "a\\377"\nmsgstr "b"\n', 1, "an escape sequence gives invalid UTF-8"),
        ('msgid "a\\000"\nmsgstr "b"\n', 1, "the text holds a NUL"),
        ("\nhello\n", 2, "neither a keyword and a text in quotes"),
        (HEADER % ("de", "ISO-8859-1"), 2, "the file is in ISO-8859-1"),
        ('msgid "' + "x" * 600_000 + '"\n"' + "y" * 600_000 + '"\n', 1, "the text is longer than 1,000,000"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(DataError, match=f"de.po:{line}: ") as caught:
        read(tmp_path, text)
    assert message in f"{caught.value.what} {caught.value.why}"
