"""XML from strangers: what grows, what is damaged, and what is something else."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("lxml.etree", reason="needs lxml (the extra documents)")

from openwork.base.errors import DataError
from openwork.documents import libraries, xml_file
from openwork.documents.catalogue import format_of, read_document
from openwork.documents.document import DocumentSettings
from openwork.documents.xml_file import read_xml

SETTINGS = DocumentSettings("en", "de")
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
ATTACKS = {
    "laughs": (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><ROOT>&l9;</ROOT>', "D174"),
    "laughs in an attribute": (f'<!DOCTYPE a [<!ENTITY l0 "ha">{LAUGHS}]><ROOT a="&l9;"/>', "D174"),
    "an external entity": ('<!DOCTYPE a [<!ENTITY e SYSTEM "FILE">]><ROOT>&e;</ROOT>', "D174"),
    "a parameter entity": ('<!DOCTYPE a [<!ENTITY % e SYSTEM "FILE"> %e;]><ROOT/>', "D174"),
    "an entity of a type that is not read": ('<!DOCTYPE a SYSTEM "FILE"><ROOT>&e;</ROOT>', "D174"),
    "deep": ("<ROOT>" * 100_000, "D175"),
    "deep and whole": ("<ROOT>" * 1000 + "</ROOT>" * 1000, "D175"),
    "an end that is missing": ("<ROOT><a>", "D173"),
    "no XML": ("hello", "D173"),
    "nothing": ("", "D173"),
    "a control character": ("<ROOT>\x01</ROOT>", "D173"),
    "a prefix without a namespace": ("<x:ROOT/>", "D173"),
    "an encoding that nobody knows": ('<?xml version="1.0" encoding="none"?><ROOT/>', "D173"),
    "another root": ("<html/>", "D176"),
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("ending", ["xlf", "tmx"])
def test_attacks_are_refused_within_little_memory(tmp_path: Path, name: str, ending: str) -> None:
    text, code = ATTACKS[name]
    (tmp_path / "secret").write_text("secret")
    path = tmp_path / f"a.{ending}"
    path.write_text(
        text.replace("ROOT", {"xlf": "xliff"}.get(ending, ending)).replace("FILE", str(tmp_path / "secret"))
    )
    content = path.read_bytes()
    tracemalloc.start()
    with pytest.raises(DataError) as error:
        format_of(path)(content, path, SETTINGS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (error.value.code, peak < 8_000_000) == (code, True)
    assert str(error.value).startswith(str(path)) and "secret" not in error.value.why


@pytest.mark.parametrize("version", ["", "3.0"])
def test_a_version_that_is_not_known(version: str) -> None:
    from openwork.documents.formats.xliff import read_xliff

    with pytest.raises(DataError, match="not XLIFF") as error:
        read_xliff(f'<xliff version="{version}"/>'.encode(), Path("a.xlf"), SETTINGS)
    assert error.value.code == "D176"


def test_too_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_file, "MOST_ELEMENTS", 5)
    assert len(read_xml(b"<a><b c='1'/><b/></a>", Path("a")).root) == 2
    with pytest.raises(DataError) as error:
        read_xml(b"<a><b c='1'/><b d='1'/><b/></a>", Path("a"))
    assert error.value.code == "D175"


@pytest.mark.parametrize(("ending", "library"), [("xlf", "lxml"), ("tmx", "lxml"), ("po", "polib"), ("docx", "lxml")])
def test_a_library_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, library: str) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"")
    with pytest.raises(DataError, match=f"needs {library}") as error:
        read_document(path, SETTINGS)
    assert error.value.code == "D172" and "documents" in error.value.hint


WHOLE = b"""<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE a SYSTEM "a.dtd" [<!ELEMENT a ANY>]><!-- c -->
<a  x = '1' xmlns:n="u"><n:b><![CDATA[<]]></n:b><!-- d --><?p q?>&#233;\xc3\xa9</a >
<?end?>"""


def test_what_is_around_the_root_stays_byte_for_byte() -> None:
    written = read_xml(WHOLE, Path("a")).written()
    assert written.startswith(WHOLE[: WHOLE.index(b"<a ")]) and written.endswith(b"</a>\n<?end?>")
    assert b"<n:b><![CDATA[<]]></n:b><!-- d --><?p q?>\xc3\xa9\xc3\xa9</a>" in written


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3))
def test_damaged_bytes_give_no_traceback(place: int, change: bytes) -> None:
    try:
        file = read_xml(WHOLE[:place] + change + WHOLE[place + 1 :], Path("a"))
    except DataError:
        return
    assert read_xml(file.written(), Path("a")).written() == file.written()
