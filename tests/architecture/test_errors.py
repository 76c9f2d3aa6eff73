"""Every error that a person can meet has a code, a remedy and a test; docs/errors.md is what the code says.

`make errors` names the next free code for a new error; see the head of provoked.toml.
"""

import re
from pathlib import Path

import pytest

from architecture import error_pages, provoked
from architecture.error_sites import OF_LIBRARIES, all_sites
from architecture.house import PACKAGE
from architecture.messages import FEWEST_LETTERS
from openwork.base import errors
from openwork.base.config import read_run_file
from openwork.cli.main import _REFUSED

# Errors without a test in provoked.toml; this number only ever falls.
MOST_WITHOUT_A_TEST = 0
CHINESE = r"[\u4e00-\u9fff]"


def test_every_error_has_a_code():
    """At its end: code="D001", as many as it has sentences. What is said here names the next free one."""
    assert error_pages.without_code() == []


def test_a_code_stands_for_one_error():
    """A reworded sentence keeps its code; that of an error that is gone is written into RETIRED."""
    codes = error_pages.by_code()
    assert [code for code in codes if code in error_pages.RETIRED] == []
    for code, sites in codes.items():
        assert re.fullmatch(r"[UDCBE]\d{3}", code)
        assert {error_pages.LETTERS[site.made_as] for site in sites} == {code[0]}
        assert error_pages.sentence_of(code, sites)
    sentences = {(code[0], error_pages.sentence_of(code, sites)) for code, sites in codes.items()}
    assert len(sentences) == len(codes)


def test_no_code_is_lost():
    """Codes are numbered without gaps, so one that is gone is among those that are retired."""
    known = {*error_pages.by_code(), *error_pages.RETIRED}
    for letter in error_pages.LETTERS.values():
        count = sum(code[0] == letter for code in known)
        assert sorted(code for code in known if code[0] == letter) == [f"{letter}{n:03}" for n in range(1, count + 1)]


def test_what_the_command_lines_library_says_has_the_codes_of_its_sentences():
    for code, sentence in OF_LIBRARIES["cli/main.py"].items():
        found = [other for other, pattern in _REFUSED.items() if re.fullmatch(pattern, sentence)]
        assert found == [code]


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
    assert set(error_pages.by_code()) - tests.keys() - none.keys() == set()
    assert (tests.keys() | none.keys()) - set(error_pages.by_code()) == set()
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


def test_a_new_error_gets_the_next_free_number(monkeypatch: pytest.MonkeyPatch):
    """Behind those that are retired."""
    monkeypatch.setitem(error_pages.RETIRED, "D900", "the dog ate it")
    assert error_pages.next_code("D") == "D901"


def test_only_errors_that_the_package_makes_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(errors.OpenworkError, "__init__", errors.OpenworkError.__init__)  # put back at the end
    provoked.record(tmp_path / "notes")
    with pytest.raises(errors.ConfigError):
        read_run_file(tmp_path / "none.toml")
    assert errors.DataError("made here").hint == ""
    (noted,) = provoked.recorded(tmp_path / "notes")
    assert (noted.kind, noted.code) == ("ConfigError", "C008") and noted.what.endswith("none.toml: no such run file")
    assert noted.place.startswith("base/config.py:")
    assert "test_only_errors_that_the_package_makes_are_noted" in noted.test


def test_errors_are_found_however_their_sentences_are_made(tmp_path: Path):
    (tmp_path / "a.py").write_text(
        "def f(path, why):\n"
        '    what = f"{path}: spoilt" if why else "nothing there"\n'
        '    raise DataError(what, why=why, hint=_hint(path), code="D001" if why else "D002") '
        'if path else spoilt(path, "too long")\n'
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
    assert first.codes == ("D001", "D002") and second.codes == ()
    assert first.causes == ("it is empty",) and first.remedies == ("remove {}", "give a file")
    assert second.made_as == "ConfigError" and second.sentences == ("{}no {}",) and second.remedies == ("too long",)
