"""Terminology: which terms a sentence has, and glossaries that cannot be used."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.data.glossary import Glossary, Term, read_glossary


def glossary(**terms: str) -> Glossary:
    return Glossary([Term(source.replace("_", " "), target, 1) for source, target in terms.items()])


def read(folder: Path, data: str | bytes) -> Glossary:
    path = folder / "terms.tsv"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_glossary(path)


TERMS = Glossary(
    [
        Term("bank", "Bank", 1),
        Term("central bank", "Zentralbank", 2),
        Term("bank account", "Konto", 3),
        Term("US", "USA", 4),
        Term("apple", "Apfel", 5),
        Term("Apple", "Apple Inc.", 6),
        Term("naïve", "naiv", 7),
        Term("C++", "C++-Sprache", 8),
        Term("straße", "street", 9),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the bank is open", ["Bank"]),
        ("The BANK and the Bank", ["Bank"]),
        ("banking, embank, bank's", ["Bank"]),
        ("bank_id bank2", []),
        ("the central bank account", ["Zentralbank"]),
        ("a bank account at a bank", ["Konto", "Bank"]),
        ("tell us of the US", ["USA"]),
        ("Apple sells an apple. APPLE!", ["Apple Inc.", "Apfel"]),
        ("a NAÏVE man", ["naiv"]),
        ("C++ or c++?", ["C++-Sprache"]),
        ("%(bank)s <bank> ``bank`` https://bank.org bank", ["Bank"]),
        ("Straße STRASSE", ["street"]),
        ("", []),
    ],
)
def test_terms_stand_at_the_borders_of_words(text: str, expected: list[str]) -> None:
    assert TERMS.required(text) == expected


def test_chinese_terms_are_found_anywhere_the_longest_first() -> None:
    terms = Glossary([Term("北京", "Beijing", 1), Term("北京大学", "Peking University", 2), Term("大学", "college", 3)])
    assert terms.required("我在北京大学学习") == ["Peking University"]
    assert terms.required("北京的大学") == ["Beijing", "college"]
    assert [(match.begin, match.end) for match in terms.matches("去北京，住北京。")] == [(1, 3), (5, 7)]


def test_mixed_scripts_have_a_border_between_them() -> None:
    terms = Glossary([Term("gpu", "显卡", 1), Term("T恤", "T-shirt", 2)])
    assert terms.required("使用GPU训练") == ["显卡"]
    assert terms.required("gpus") == []
    assert terms.required("一件T恤衫") == ["T-shirt"]
    assert terms.required("XT恤") == []


def test_another_case_of_a_term_with_capitals_is_no_match() -> None:
    assert glossary(SAT="a").required("Sat sat SAT") == ["a"]
    assert glossary(sat="a").required("Sat") == ["a"]


@given(
    text=st.text(max_size=30),
    sources=st.lists(st.text(min_size=1, max_size=4).map(str.strip).filter(bool), max_size=6, unique=True),
)
def test_matches_are_in_order_and_are_what_the_text_says(text: str, sources: list[str]) -> None:
    end = 0
    for match in Glossary([Term(source, source, 1) for source in sources]).matches(text):
        assert match.begin >= end
        end = match.end
        assert text[match.begin : end].lower() == match.term.source.lower()


def test_a_file_of_terms(tmp_path: Path) -> None:
    terms = read(tmp_path, gzip.compress("\ufeffdog \t Hund\r\n\ncat\tKatze\ndog\tHund\n".encode()))
    assert [(term.source, term.target, term.line) for term in terms.terms] == [("dog", "Hund", 1), ("cat", "Katze", 3)]
    assert len(terms) == 2
    assert len(read(tmp_path, "")) == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("dog\tHund\ncat\n", "terms.tsv:2: this is no pair of terms"),
        ("dog\tHund\tn.\n", "terms.tsv:1: this is no pair of terms"),
        ("dog\t \n", "terms.tsv:1: this is no pair of terms"),
        ("\tHund\n", "terms.tsv:1: this is no pair of terms"),
        ("dog\tHund\n\ndog\tKöter\n", "terms.tsv:3: 'dog' has two translations"),
        ("x" * 501 + "\ty\n", "terms.tsv:1: this is no pair of terms"),
        ("x" * 1_000_001, "terms.tsv:1: the line is longer than 1,000,000"),
        (b"dog\tHund\ncat\t\xff\n", "terms.tsv:2: invalid UTF-8"),
        (b"dog\tHu\0nd\n", "terms.tsv:1: .*NUL"),
        (gzip.compress(b"a\tb\n" * 9000, mtime=0)[:-9], "terms.tsv: the gzip archive is damaged"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, data: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(tmp_path, data)
    assert caught.value.hint


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path, message in ((tmp_path / "none.tsv", "no such file"), (tmp_path, "this is a folder")):
        with pytest.raises(DataError, match=message):
            read_glossary(path)
