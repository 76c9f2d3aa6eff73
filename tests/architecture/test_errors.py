"""Every error that a person can meet has a code, a remedy and a test; docs/errors.md is what the code says.

What is missing is given with `make errors`; see the heads of src/openwork/base/errors.toml and provoked.toml.
"""

import re
from pathlib import Path

import pytest

from architecture import error_pages, provoked
from architecture.error_sites import all_sites
from architecture.house import PACKAGE
from architecture.messages import FEWEST_LETTERS
from openwork.base import errors
from openwork.base.config import read_run_file
from openwork.base.error_codes import LETTERS, RETIRED, code_of
from openwork.base.messages import GAP

# Errors without a test in provoked.toml; this number only ever falls.
MOST_WITHOUT_A_TEST = 0
# What may stand in a gap. The second is a place and a cause at once.
FILLINGS = ("x", "3 lines", "data/train.en", "run.toml:12: model: ", "3", "the 2nd 'word' of it", "")
CHINESE = r"[\u4e00-\u9fff]"
KINDS = {letter: kind for kind, letter in LETTERS.items()}
IN_USE = {
    code: said for name, table in error_pages.read_tables().items() if name != RETIRED for code, said in table.items()
}


def test_every_error_has_a_code():
    """Run `make errors`: it gives the next free number."""
    assert error_pages.without_code(error_pages.read_tables()) == {}


def test_every_code_stands_for_an_error():
    """A reworded sentence keeps its code: write it into errors.toml. That of an error that is gone is [retired]."""
    assert error_pages.left_over(error_pages.read_tables()) == {}


def test_codes_are_letters_and_numbers_given_once():
    tables = error_pages.read_tables()
    codes = [code for table in tables.values() for code in table]
    assert len(codes) == len(set(codes))
    assert set(tables) == {*error_pages.TABLES.values(), RETIRED}
    for letter, name in error_pages.TABLES.items():
        assert [code for code in tables[name] if not re.fullmatch(rf"{letter}\d{{3}}", code)] == []
        assert len(set(tables[name].values())) == len(tables[name])


@pytest.mark.parametrize("filling", FILLINGS)
def test_each_sentence_finds_its_own_code(filling: str):
    wrong = {}
    for code, sentence in IN_USE.items():
        found = code_of(KINDS[code[0]](sentence.replace(GAP, filling)))
        if found != code:
            wrong[code] = (sentence, found)
    assert wrong == {}


def test_every_error_has_a_remedy():
    """hint=: what to type or change. And why=, unless the sentence says the cause plainly."""
    assert [f"{site.place}: {site.sentences}" for site in all_sites() if not site.has_remedy] == []


def test_rules_between_settings_have_a_remedy_too():
    """In a validator of settings: `raise RuleError(what, hint=...)`, which a person sees as a ConfigError."""
    holders = [path for path in PACKAGE.rglob("*.py") if "settings" in path.stem or path.stem == "run_file"]
    assert [str(path) for path in holders if "raise ValueError(" in path.read_text("utf-8")] == []


def test_every_sentence_can_be_read_from_the_code():
    assert [site.place for site in all_sites() if not all(re.search("[a-z]", text) for text in site.sentences)] == []
    assert [site.place for site in all_sites() if not site.sentences] == []
    assert all(hasattr(errors, site.made_as) for site in all_sites())


def test_every_code_has_a_test_that_provokes_it():
    """Write one, then `make errors ARGS=tests/...`. Where none can be, [none] in provoked.toml says why."""
    tests, none = error_pages.read_provoked().values()
    assert set(IN_USE) - tests.keys() - none.keys() == set()
    assert (tests.keys() | none.keys()) - set(IN_USE) == set()
    assert tests.keys() & none.keys() == set()
    assert {code: test for code, test in tests.items() if not error_pages.exists(test)} == {}
    assert len(none) <= MOST_WITHOUT_A_TEST
    assert all(len(reason) > 20 for reason in none.values())


@pytest.mark.parametrize("language", error_pages.PAGES)
def test_the_pages_are_what_the_code_says(language: str):
    """`make errors` writes them anew."""
    assert error_pages.PAGES[language].read_text("utf-8") == error_pages.page(language)


def test_the_chinese_page_is_chinese():
    headings = re.findall(r"^\*\*(.*)\*\*$", error_pages.page("zh"), re.MULTILINE)
    assert [heading for heading in headings if not re.search(CHINESE, heading)] == []


def test_causes_and_remedies_have_a_chinese_form():
    """Those that stand under a name are for composed.py."""
    texts = {text for site in all_sites() for text in (*site.causes, *site.remedies)}
    said = [text for text in texts if sum(map(str.isalpha, text)) >= FEWEST_LETTERS]
    assert [text for text in said if not re.search(CHINESE, error_pages.in_language(text, "zh"))] == []


def test_a_new_error_gets_the_next_free_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Behind those that are retired; a sentence that is gone must be retired before."""
    text = error_pages.CODES.read_text("utf-8")
    (line,) = re.findall(r"^D050 = (.*)$", text, re.MULTILINE)
    path = tmp_path / "errors.toml"
    path.write_text(text.replace(f"D050 = {line}\n", "") + 'D900 = "the dog ate it"\n', encoding="utf-8")
    monkeypatch.setattr(error_pages, "CODES", path)
    error_pages.give_codes()
    assert path.read_text("utf-8").count(f"\nD901 = {line}\n") == 1
    assert "# A code is never given to another error" in path.read_text("utf-8")
    path.write_text(text.replace(line, '"the cat ate it"'), encoding="utf-8")
    with pytest.raises(SystemExit, match="D050 the cat ate it"):
        error_pages.give_codes()


def test_only_errors_that_the_package_makes_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(errors.OpenworkError, "__init__", errors.OpenworkError.__init__)  # put back at the end
    provoked.record(tmp_path / "notes")
    with pytest.raises(errors.ConfigError):
        read_run_file(tmp_path / "none.toml")
    assert errors.DataError("made here").hint == ""
    (noted,) = provoked.recorded(tmp_path / "notes")
    assert noted.kind == "ConfigError" and noted.what.endswith("none.toml: no such run file")
    assert noted.place.startswith("base/config.py:")
    assert "test_only_errors_that_the_package_makes_are_noted" in noted.test


def test_errors_are_found_however_their_sentences_are_made(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        "def f(path, why):\n"
        '    what = f"{path}: spoilt" if why else "nothing there"\n'
        '    raise DataError(what, why=why, hint=_hint(path)) if path else spoilt(path, "too long")\n'
        "def g(path):\n"
        '    f(path, "it is empty")\n'
        "def _hint(path):\n"
        '    return f"remove {path}" if path else "give a file"\n'
        "def spoilt(path, cause):\n"
        '    return RuleError(f"no {path}", hint=cause)\n'
    )
    first, second = all_sites(tmp_path)
    assert first.kind == "DataError" and first.place == "a.py:3"
    assert first.sentences == ("{}: spoilt", "nothing there")
    assert first.causes == ("it is empty",) and first.remedies == ("remove {}", "give a file")
    assert second.made_as == "ConfigError" and second.sentences == ("{}no {}",) and second.remedies == ("too long",)
