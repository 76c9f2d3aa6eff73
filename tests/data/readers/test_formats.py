"""What holds for every format: how it is chosen, compression, and files that are not what they should be."""

import gzip
import lzma
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openwork.base.errors import DataError
from openwork.data.readers.formats import FORMATS, Skips, format_of, read_file
from openwork.data.readers.lines import read_parallel
from openwork.data.readers.sides import as_sentence
from openwork.data.records import Languages, Pair

EN_DE = Languages("en", "de")
DOG = Pair("dog", "Hund")
SAMPLES: dict[str, str] = {
    "tsv": "dog\tHund\n",
    "jsonl": '{"en": "dog", "de": "Hund"}\n',
    "tmx": '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>dog</seg></tuv>'
    '<tuv xml:lang="de"><seg>Hund</seg></tuv></tu></body></tmx>\n',
    "xliff": '<xliff version="1.2"><file source-language="en" target-language="de"><body><trans-unit id="1">'
    "<source>dog</source><target>Hund</target></trans-unit></body></file></xliff>\n",
    "po": 'msgid "dog"\nmsgstr "Hund"\n',
    "conll": "dog Hund\n",
}
XML = ("tmx", "xliff")
formats = pytest.mark.parametrize("name", FORMATS)


def write(folder: Path, name: str, data: str | bytes, ending: str = "") -> Path:
    path = folder / f"pairs{FORMATS[name].endings[0]}{ending}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refused(path: Path, *words: str) -> DataError:
    with pytest.raises(DataError) as caught:
        list(read_file(path, EN_DE))
    for word in words:
        assert word in caught.value.what
    return caught.value


@formats
def test_every_format_is_chosen_by_its_endings_or_by_name(tmp_path: Path, name: str) -> None:
    assert SAMPLES.keys() == FORMATS.keys()
    for ending in FORMATS[name].endings:
        for compressed in ("", ".gz", ".XZ"):
            assert format_of(Path(f"x{ending.upper()}{compressed}")) is FORMATS[name]
    path = tmp_path / "pairs.txt"
    path.write_text(SAMPLES[name])
    assert list(read_file(path, EN_DE, format_name=name)) == [DOG]
    error = refused(path, "pairs.txt: the format of the file is not clear from its name")
    assert ".tmx" in error.why and "format" in error.hint


@formats
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_every_format_is_read_plain_and_compressed(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    assert list(read_file(write(tmp_path, name, pack(SAMPLES[name].encode())), EN_DE)) == [DOG]


@formats
def test_missing_files_and_folders(tmp_path: Path, name: str) -> None:
    refused(tmp_path / f"none{FORMATS[name].endings[0]}", "no such file")
    folder = tmp_path / f"folder{FORMATS[name].endings[0]}"
    folder.mkdir()
    refused(folder, "this is a folder")


@formats
def test_an_empty_file_has_no_pairs_or_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, b"")
    if name in XML:
        refused(path, ":1: the file is not well-formed XML")
    else:
        assert list(read_file(path, EN_DE)) == []


@formats
@pytest.mark.parametrize("bad", [b"\xff\xfe\xfa", b"dog\0"])
def test_bytes_that_are_no_text_are_named_with_the_line(tmp_path: Path, name: str, bad: bytes) -> None:
    lines = SAMPLES[name].replace("><", ">\n<")
    place = lines.index("Hund")
    data = lines[:place].encode() + bad + lines[place:].encode()
    refused(write(tmp_path, name, data), f":{lines[:place].count(chr(10)) + 1}: ")


@formats
@pytest.mark.parametrize(("pack", "program"), [(gzip.compress, "gzip"), (lzma.compress, "xz")])
def test_archives_cut_short(tmp_path: Path, name: str, pack: Callable[[bytes], bytes], program: str) -> None:
    error = refused(write(tmp_path, name, pack(SAMPLES[name].encode())[:-9]), f"the {program} archive is damaged")
    assert f"{program} -t" in error.hint


def test_a_text_of_a_million_characters_is_the_longest() -> None:
    assert as_sentence("x" * 1_000_000, Path("a"), 1) == "x" * 1_000_000
    with pytest.raises(DataError, match="a:7: the text is longer than 1,000,000 characters"):
        as_sentence("x" * 1_000_001, Path("a"), 7)


@pytest.mark.slow
@formats
def test_a_text_beyond_all_measure_is_refused_with_its_line(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, name, lzma.compress(SAMPLES[name].replace("Hund", "x" * 30_000_000).encode(), preset=0))
    tracemalloc.start()
    error = refused(path, "longer than 1,000,000 characters")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ":1: " in error.what or ":2: " in error.what
    assert peak < 16_000_000  # not the thirty million that the file would give


@formats
def test_skips_are_those_of_the_last_whole_reading(tmp_path: Path, name: str) -> None:
    path, skips = write(tmp_path, name, SAMPLES[name]), Skips()
    for _ in range(2):
        list(read_file(path, EN_DE, skips=skips))
    assert skips == {}
    if name == "po":
        path.write_text('#, fuzzy\nmsgid "a"\nmsgstr "b"\n' * 7)
        for _ in range(2):
            assert list(read_file(path, EN_DE, skips=skips)) == []
        assert (skips["fuzzy"].count, skips["fuzzy"].first_lines) == (7, [2, 5, 8, 11, 14])


BOMB = '<!DOCTYPE {root} [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE {root} [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'
PARAMETER = '<!DOCTYPE {root} [<!ENTITY % outside SYSTEM "http://localhost/x.dtd"> %outside;]>'


@pytest.mark.parametrize("name", XML)
@pytest.mark.parametrize("declaration", [BOMB, OUTSIDE, PARAMETER])
def test_declared_entities_are_refused_before_they_are_used(tmp_path: Path, name: str, declaration: str) -> None:
    text = declaration.format(root=name) + "\n" + SAMPLES[name]
    refused(write(tmp_path, name, text), ":1: the entity")


@pytest.mark.parametrize("name", XML)
@pytest.mark.parametrize("doctype", ["", '<!DOCTYPE x SYSTEM "file:///etc/passwd">'])
def test_undeclared_entities_are_refused(tmp_path: Path, name: str, doctype: str) -> None:
    refused(write(tmp_path, name, doctype + SAMPLES[name].replace("Hund", "&hund;")), ":1: ")


@pytest.mark.slow
@pytest.mark.parametrize("name", XML)
@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<x>" * 300 + "</x>" * 300, "more than 200 nested elements"),
        ("<x a='" + "b" * 9_000_000 + "'/>", "a tag without end"),
        ("<!-- " + "b" * 9_000_000 + " -->", "a tag without end"),
    ],
)
def test_structure_beyond_measure_is_refused_soon(tmp_path: Path, name: str, inside: str, said: str) -> None:
    path = write(tmp_path, name, SAMPLES[name].replace("Hund", inside))
    begin = time.process_time()
    refused(path, ":1: ", said)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("name", XML)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("</", "<"), "the file is not well-formed XML"),
        (("Hund", "<"), "the file is not well-formed XML"),
        (("<", '<?xml version="1.0" encoding="no-such"?><'), "encoding"),
    ],
)
def test_faults_of_the_markup_name_the_line(tmp_path: Path, name: str, change: tuple[str, str], said: str) -> None:
    refused(write(tmp_path, name, SAMPLES[name].replace(*change, 1)), ":1: ", said)


def test_two_files_may_be_compressed_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(lzma.compress(b"dog\n") + lzma.compress(b"cat\n"))  # two streams, as `xz` appends
    (tmp_path / "b").write_bytes(gzip.compress(b"Hund\nKatze\n"))
    assert list(read_parallel(tmp_path / "a", tmp_path / "b")) == [DOG, Pair("cat", "Katze")]


def test_an_eleventh_format_would_be_one_file_and_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_words(path: Path, languages: Languages) -> Iterator[Pair]:
        yield from (Pair(*line.split("=")) for line in path.read_text().splitlines())

    monkeypatch.setitem(FORMATS, "words", type(FORMATS["tsv"])(read_words, (".words",)))
    (tmp_path / "a.words").write_text("dog=Hund\n")
    assert list(read_file(tmp_path / "a.words")) == [DOG]
