"""Telling languages: only where it is beyond doubt, and never without the package."""

from types import SimpleNamespace

import pytest

from openwork.text import languages
from openwork.text.languages import language_in_name

FRENCH = "Deux hommes marchent sous la pluie dans une rue de la ville."


def identifier(found: str, probability: float) -> SimpleNamespace:
    return SimpleNamespace(labels=["de", "en", "fr"], classify=lambda text: (found, probability))


@pytest.mark.parametrize(
    ("text", "wanted", "known", "expected"),
    [
        (FRENCH, "en", identifier("fr", 0.99), "fr"),
        (FRENCH, "fr-CA", identifier("fr", 0.99), None),
        (FRENCH, "en", identifier("fr", 0.9), None),  # likely is not sure
        (FRENCH, "hsb", identifier("fr", 0.99), None),  # Upper Sorbian: the package would call it something else
        ("Deux hommes", "en", identifier("fr", 0.99), None),  # too short
        (FRENCH, "en", None, None),
    ],
)
def test_what_is_sure_is_told(
    monkeypatch: pytest.MonkeyPatch, text: str, wanted: str, known: object, expected: str | None
) -> None:
    monkeypatch.setattr(languages, "_identifier", lambda: known)
    assert languages.other_language(text, wanted) == expected
    assert languages.can_tell_languages() == (known is not None)


@pytest.mark.slow
def test_with_the_package() -> None:
    pytest.importorskip("py3langid", reason="the extra languages is not installed")
    assert languages.other_language(FRENCH, "en") == "fr"
    assert languages.other_language("Two men are walking along a street in the rain.", "en") is None


def test_letters_of_another_script() -> None:
    assert languages.in_other_script("你好，世界，今天天气很好。" * 3, "de")
    assert languages.in_other_script("The weather is fine today.", "zh-CN")
    assert not languages.in_other_script("Das Wetter ist heute schön.", "de")
    assert not languages.in_other_script("The weather is fine today.", "xx")


def test_without_the_package_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(languages, "import_module", missing)
    assert not languages.can_tell_languages() and languages.other_language(FRENCH, "en") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("train.en", "en"),
        ("train.zh-CN.gz", "zh-CN"),
        ("corpus.tok.pt_BR.txt", "pt-BR"),
        ("europarl.de-en.de", "de"),
        ("en.txt", "en"),
        ("train_fr", "fr"),
        ("source.txt", None),
        ("train.src", None),
        ("train.xx", None),
        ("garden", None),
        ("", None),
    ],
)
def test_names_of_files(name: str, expected: str | None) -> None:
    assert language_in_name(name) == expected
