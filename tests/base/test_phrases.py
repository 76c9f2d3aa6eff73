import pytest

from openwork.base.messages import Catalogue, catalogue
from openwork.base.phrases import AsIs, Beside, Joined, Padded, shown_width

KNOWN = Catalogue({"corpus": "语料库", "not here": "不在本机", "{} pairs": "{0} 对", "; ": "；"})


def test_parts_are_translated_one_by_one():
    line = Joined("not here", "; ", AsIs("corpus"), " ", "3 pairs", Joined(" ", "corpus"))
    assert line == "not here; corpus 3 pairs corpus"
    assert KNOWN.translate(line) == "不在本机；corpus 3 对 语料库"


def test_a_name_in_a_gap_is_no_sentence():
    assert KNOWN.translate("corpus pairs") == "corpus 对"
    assert KNOWN.translate("not here pairs") == "不在本机 对"


@pytest.mark.parametrize(("right", "shown"), [(False, "语料库  |"), (True, "  语料库|")])
def test_columns_are_as_wide_in_every_language(right: bool, shown: str):
    cell = Padded("corpus", 8, right=right)
    assert len(cell) == shown_width(KNOWN.translate(cell)) == 8
    assert f"{KNOWN.translate(cell)}|" == shown


def test_what_is_wider_than_its_column_is_not_cut():
    assert Padded("语料库", 2) == "语料库"


def test_marks_take_no_column():
    assert shown_width("e\u0301语") == 3


def test_english_is_the_text_itself():
    for phrase in (AsIs("a"), Joined("a", " b"), Padded("a", 3, right=True)):
        assert catalogue("en").translate(phrase) == phrase


def test_texts_from_outside_side_by_side_are_not_translated():
    beside = Beside("corpus", "not here")
    assert beside == "corpus → not here" and KNOWN.translate(beside) is beside
    assert Beside("corpus", "3 pairs", between=": ") == "corpus: 3 pairs"
