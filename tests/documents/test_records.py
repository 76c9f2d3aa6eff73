"""Tables and JSON lines: one column is translated into a new one."""

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from documents.arrangements import parts_of, reading
from openwork.base.errors import DataError
from openwork.documents.document import DocumentSettings
from openwork.documents.formats.records import read_csv, read_jsonl, read_tsv

ANY = some.text(some.characters(exclude_categories=["Cs"]))


EXAMPLES = [
    (
        read_csv,
        'id,text\r\n1,"Say ""x"""\r\n\r\n2,"a\r\nb"\r\n3,\r\n',
        'id,text,translation\r\n1,"Say ""x""","A,"\r\n\r\n2,"a\r\nb",B\r\n3,,\r\n',
    ),
    (read_csv, "text;id\na;1\nb;2", "text;id;translation\na;1;A,\nb;2;B"),
    (
        read_csv,
        '"text","id"\n"a","1"\n"b","2"\n',
        '"text","id","translation"\n"a","1","A,"\n"b","2","B"\n',
    ),
    (read_csv, "text,translation,id\na,,1\nb,old,2\n", 'text,translation,id\na,"A,",1\nb,B,2\n'),
    (read_tsv, 'source\tid\n"a\t1\nb"\t2\n', 'source\tid\ttranslation\n"a\t1\tA,\nb"\t2\tB\n'),
    (
        read_jsonl,
        '{"text": "\\u00e4", "n": 1.0}\n\n{"n": 2, "text": "b" }',
        '{"text": "\\u00e4", "n": 1.0, "translation": "A,"}\n\n{"n": 2, "text": "b", "translation": "B" }',
    ),
    (
        read_jsonl,
        '{"text": "a", "translation": null, "x": []}\n{"text": "b", "translation": "old"}\n{"text": null}',
        '{"text": "a", "translation": "A,", "x": []}\n{"text": "b", "translation": "B"}\n{"text": null}',
    ),
]


@pytest.mark.parametrize(("read", "text", "wanted"), EXAMPLES)
def test_translated(read, text: str, wanted: str):
    document = assert_stays_without(read, text)
    assert len(document.segments) == 2
    assert document.written([("A,",), ("B",)]).decode() == wanted


def assert_stays_without(read, text: str):
    document = reading(read, text)
    assert document.written([None] * len(document.segments)).decode() == text
    return document


def test_a_row_that_is_translated():
    segment = reading(read_csv, "text,translation\na,b\nc,\n").segments[0]
    assert (segment.current, segment.is_translated, segment.place) == (("b",), True, "line 2")
    segments = reading(read_jsonl, '{"text": "a", "translation": "b"}\n{"text": "c"}').segments
    assert [(segment.current, segment.is_translated) for segment in segments] == [(("b",), True), ((), False)]


def test_lines_of_a_field_are_one():
    assert parts_of(reading(read_csv, '\ufeffid,text\n1," a\n b "\n')) == [("a b",)]


def test_the_column_that_is_named():
    document = read_csv(b"text,de\na,b\n", Path("x"), DocumentSettings(column="de"))
    assert parts_of(document) == [("b",)]
    document = read_jsonl(b'{"text": "a", "de": "b"}', Path("x"), DocumentSettings(column="de"))
    assert parts_of(document) == [("b",)]


@pytest.mark.parametrize(
    ("read", "text", "code", "place"),
    [
        (read_csv, "id,txt\n1,a\n", "D183", "x.csv:"),
        (read_csv, "text,text\n1,a\n", "D183", "x.csv:"),
        (read_csv, "id,text\n1,a\n2,b,c\n", "D184", "x.csv:3:"),
        (read_csv, 'id,text\n1,a\n2,"b"c\n', "D184", "x.csv:3:"),
        (read_csv, 'id,text\n1,a\n2,"b\n\n', "D184", "x.csv:3:"),
        (read_csv, "id,text\n1," + "a" * 200_000, "D184", "x.csv:2:"),
        (read_csv, "", "D184", "x.csv:1:"),
        (read_tsv, "id\ttext\n1\n", "D184", "x.csv:2:"),
        (read_jsonl, '{"text": "a"}\n{"txt": "b"}', "D183", "x.csv:2:"),
        (read_jsonl, '{"text": "a"}\n{"text": NaN}', "D185", "x.csv:2:"),
        (read_jsonl, '{"text": "a"} {}', "D185", "x.csv:1:"),
        (read_jsonl, "[1]", "D185", "x.csv:1:"),
        (read_jsonl, '{"text": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "D185", "x.csv:1:"),
        (read_jsonl, '{"text": "\\ud800"}', "D186", "x.csv:1:"),
        (read_jsonl, '{"text": 1}', "D186", "x.csv:1:"),
        (read_jsonl, '{"text": "a", "translation": ["b"]}', "D186", "x.csv:1:"),
    ],
)
def test_broken_rows(read, text: str, code: str, place: str):
    with pytest.raises(DataError) as raised:
        reading(read, text, "x.csv")
    assert raised.value.code == code
    assert raised.value.what.startswith(place)


def test_long_numbers_stay():
    text = f'{{"text": "a", "n": {"9" * 5000}}}'
    assert assert_stays_without(read_jsonl, text).written([("b",)]).decode() == text[:-1] + ', "translation": "b"}'


@given(some.text())
def test_any_text_is_read_or_refused(text: str):
    for read in (read_csv, read_tsv, read_jsonl):
        for start in ("", "id,text\n", "text\n", '{"text": "a"}\n'):
            try:
                document = reading(read, start + text.encode(errors="replace").decode())
            except DataError:
                continue
            assert (
                document.written([None] * len(document.segments)).decode()
                == start + text.encode(errors="replace").decode()
            )


@given(some.lists(some.tuples(ANY, ANY, ANY), min_size=1), some.sampled_from(",;\t|"), some.booleans())
def test_other_readers_read_tables(rows: list[tuple[str, str, str]], delimiter: str, quotes: bool):
    file = io.StringIO()
    quoting = csv.QUOTE_ALL if quotes else csv.QUOTE_MINIMAL
    csv.writer(file, delimiter=delimiter, quoting=quoting).writerows([("id", "text"), *(row[:2] for row in rows)])
    document = reading(read_csv, file.getvalue())
    answers = iter([row[2] for row in rows])
    translations = [(next(answers),) for _ in document.segments]
    written = document.written(translations).decode()
    found = list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter, strict=True))
    given_rows = list(csv.reader(io.StringIO(file.getvalue(), newline=""), delimiter=delimiter, strict=True))
    width = 3 if document.segments else 2
    assert [row[:2] for row in found] == given_rows
    assert all(len(row) == width for row in found)
    new = [row[2] for row in found[1:] if row[2:] and row[2]]
    assert new == [text for (text,) in translations if text]


@given(
    some.lists(some.tuples(ANY, ANY, some.integers() | some.floats(allow_nan=False, allow_infinity=False)), min_size=1)
)
def test_other_readers_read_lines(rows: list[tuple[str, str, float]]):
    text = "\n".join(json.dumps({"text": source, "n": number}) for source, _, number in rows)
    document = reading(read_jsonl, text)
    answers = iter([answer for _, answer, _ in rows])
    translations = [(next(answers),) for _ in document.segments]
    written = [json.loads(line) for line in document.written(translations).decode().split("\n")]
    assert [{key: row[key] for key in ("text", "n")} for row in written] == [
        json.loads(line) for line in text.split("\n")
    ]
    assert [row["translation"] for row in written if row.get("translation")] == [
        text for (text,) in translations if text
    ]


@pytest.mark.slow  # a megabyte each
@pytest.mark.parametrize("unit", ["{", "[", '"', "a,", '{"text": "a"},'])
def test_long_input(unit: str):
    """1 MB in a line; what takes quadratic time would reach the tests' time limit."""
    for read in (read_csv, read_tsv, read_jsonl):
        with pytest.raises(DataError):
            reading(read, "id,text\n" + unit * (1_000_000 // len(unit)))


def test_no_answer_is_no_new_column():
    assert assert_stays_without(read_csv, "text\na\n").written([None]) == b"text\na\n"
