"""JSON lines: where the texts may stand, and what is told of lines that are something else."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.data.readers.lines import keys_of_sides, read_jsonl
from openwork.data.records import Languages

TEXTS = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=20)
EN_DE = Languages("en", "de")


def read(folder: Path, data: bytes | str, languages: Languages = EN_DE) -> list[tuple[str, str]]:
    path = folder / "pairs.jsonl"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return [tuple(pair) for pair in read_jsonl(path, languages)]


@pytest.mark.slow
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=5), ascii_only=st.booleans())
def test_what_json_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], ascii_only: bool
) -> None:
    lines = [json.dumps({"source": a, "target": b, "id": 3}, ensure_ascii=ascii_only) + "\n" for a, b in pairs]
    assert read(tmp_path_factory.mktemp("any"), "".join(lines)) == pairs


@pytest.mark.parametrize(
    "line",
    [
        '{"source": "a", "target": "A"}',
        '{"de": "A", "fr": "x", "en": "a"}',
        '{"translation": {"en": "a", "de": "A"}, "id": "7"}',
        '{"translation": "note", "source": "a", "target": "A"}',
    ],
)
def test_sides_stand_under_roles_or_languages(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, line + "\n") == [("a", "A")]


def test_languages_choose_the_direction(tmp_path: Path) -> None:
    assert read(tmp_path, '{"de": "A", "en": "a"}', Languages("de", "en")) == [("A", "a")]


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        (Languages(), [("a", "A"), ("b", "B")]),
        (Languages("de", "en"), [("A", "a"), ("B", "b")]),
        (Languages("de", None), [("A", "a"), ("B", "b")]),
        (Languages(None, "de"), [("a", "A"), ("b", "B")]),
    ],
)
def test_two_languages_need_no_settings(
    tmp_path: Path, nested: bool, languages: Languages, expected: list[tuple[str, str]]
) -> None:
    texts = [{"en": "a", "de": "A"}, {"de": "B", "en": "b"}]  # the first line says which is the source
    lines = [json.dumps({"translation": one} if nested else one) for one in texts]
    assert read(tmp_path, "\n".join(lines), languages) == expected


@pytest.mark.parametrize(
    ("line", "languages", "message"),
    [
        ('{"translation": {"en": "a", "de": "b", "fr": "c"}}', Languages(), "has no source"),
        ('{"id": "a", "text": "b"}', Languages(), "has no source"),
        ('{"translation": {"en": "a", "de": "b"}}', Languages("fr", None), "has no source"),
        (
            '{"translation": {"en": "a", "de": "b"}}\n{"translation": {"en": "a", "fr": "b"}}',
            Languages(),
            ":2: .* no target",
        ),
    ],
)
def test_other_keys_are_refused(tmp_path: Path, line: str, languages: Languages, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, line, languages)
    assert "source_language" in caught.value.hint


def test_the_languages_that_a_file_names(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    for text, expected in (
        ('{"translation": {"pt_BR": "a", "en": "b"}}', ("pt_BR", "en")),
        ('{"a": ""}', (None, None)),
    ):
        path.write_text(text)
        assert keys_of_sides(path) == expected
    path.write_text("")
    assert keys_of_sides(path) == (None, None)


def test_null_is_a_blank_text_and_a_line_end_becomes_a_space(tmp_path: Path) -> None:
    assert read(tmp_path, '{"source": "a\\n  b\\n", "target": null}') == [("a b", "")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{"source": "a", "target": "b"}\n{"source": ', "pairs.jsonl:2: the line is not JSON"),
        ('{"source": "a", "target": "b"}\n\n', "pairs.jsonl:2: the line is not JSON"),
        ("[" * 100_000, "pairs.jsonl:1: the line is not JSON"),
        ('["a", "b"]', "pairs.jsonl:1: the line is not JSON"),
        ('{"source": "a"}', "pairs.jsonl:1: the line has no target"),
        ('{"source": "a", "target": 3}', "pairs.jsonl:1: target is not a text"),
        ('{"source": "a\\u0000", "target": ""}', "pairs.jsonl:1: the text holds a NUL"),
        ('{"source": "a\\ud800", "target": ""}', "pairs.jsonl:1: the text is not Unicode .*U.D800"),
        (b'{"source": "a", "target": "b"}\n\xff', "pairs.jsonl:2: invalid UTF-8"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, data: bytes | str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, data)
    assert caught.value.hint
