"""The code of an error is found by its sentence, among those of its kind."""

import pytest

from openwork.base.error_codes import code_of, codes, letter_of, read_codes
from openwork.base.errors import BundleError, ConfigError, DataError, OpenworkError, UsageError


class LateError(DataError):
    """A kind of a kind."""


def test_the_sentence_tells_the_code():
    known = {sentence: code for code, sentence in read_codes().items()}
    assert code_of(DataError("data/train.en: no such file")) == known["{}: no such file"]
    assert code_of(UsageError("--out is missing")) == known["--out is missing"]
    assert (
        code_of(ConfigError("run.toml:3: width 7 is not divisible by 2 heads"))
        == known["{}width {} is not divisible by {} heads"]
    )


def test_the_kind_parts_equal_sentences():
    found = [code_of(kind("runs: --out is a file")) for kind in (UsageError, ConfigError, OpenworkError)]
    assert [code[0] for code in found] == ["U", "C", "E"]
    assert code_of(BundleError("runs: --out is a file")) == ""


def test_the_surest_sentence_wins():
    """ "{}: {} is missing" and "{}: the file is missing" are both this one."""
    known = read_codes()
    assert known[code_of(BundleError("model.safetensors: the file is missing"))] == "{}: the file is missing"
    assert known[code_of(BundleError("a-bundle: card.md is missing"))] == "{}: {} is missing"


def test_what_no_table_has_is_without_a_code():
    assert code_of(OpenworkError("the cat sat on the mat")) == ""


@pytest.mark.parametrize("letter", "UDCBE")
def test_codes_come_with_their_letter(letter: str):
    assert codes(letter) and all(code.startswith(letter) for code, _ in codes(letter))


def test_a_kind_of_a_kind_has_its_letter():
    assert [letter_of(kind) for kind in (LateError, DataError, OpenworkError)] == ["D", "D", "E"]
