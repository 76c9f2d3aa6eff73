"""Tagged words, a line each: sentences end with blank lines, and a word without a tag is named by its line."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import DataError
from openwork.data.readers.conll import read_conll
from openwork.data.readers.formats import read_file

CONLL_2003 = b"""-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC

Peter\tNNP\tB-NP\tB-PER
Blackburn\tNNP\tI-NP\tI-PER
"""
PAIRS = [("EU rejects German", "B-ORG O B-MISC"), ("Peter Blackburn", "B-PER I-PER")]


def test_words_and_tags_of_each_sentence(tmp_path: Path) -> None:
    for name, data in (("a.conll", CONLL_2003), ("b.iob.gz", gzip.compress(CONLL_2003.replace(b"\n", b"\r\n")))):
        (tmp_path / name).write_bytes(data)
        assert [tuple(pair) for pair in read_file(tmp_path / name)] == PAIRS


def test_documents_and_blank_lines_end_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_text("\n\na O\n-DOCSTART- O\nb O\n \n\nc O", encoding="utf-8")
    assert [pair.source for pair in read_conll(tmp_path / "x.conll")] == ["a", "b", "c"]


def test_a_word_without_a_tag_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_text("a O\nb\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.conll:2: a word without a tag"):
        list(read_conll(tmp_path / "x.conll"))


WORD = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=5).filter(
    lambda word: len(word.split()) == 1 and word != "-DOCSTART-"
)


@given(st.lists(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=4), max_size=4))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[tuple[str, str]]]
) -> None:
    path = tmp_path_factory.mktemp("conll") / "x.conll"
    path.write_text("\n".join("".join(f"{word} x {tag}\n" for word, tag in one) for one in sentences), encoding="utf-8")
    words = [(" ".join(word for word, _ in one), " ".join(tag for _, tag in one)) for one in sentences]
    assert [tuple(pair) for pair in read_conll(path)] == words
