"""Flags: what each one means, and that good translations have none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.inference import guard
from openwork.inference.guard import (
    COPIED,
    EMPTY,
    LANGUAGE,
    LENGTH,
    LOOP,
    LOST,
    UNFAMILIAR,
    UNFINISHED,
    UNSURE,
    UsualTexts,
    flags,
    loops,
)
from openwork.inference.translation import Translation


def said(source: str, text: str, pieces: int | None = None, **changes: Any) -> tuple[str, Translation]:
    """A source and what it was translated to; `pieces` are those of the text with the end symbol."""
    count = len(text.split()) if pieces is None else pieces - 1
    values = {"source_pieces": len(source.split()) + 1, "pieces": tuple(range(count)), "log_probability": -1.0}
    return source, Translation(text, **{**values, **changes})


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (said("A dog runs along the beach.", "Ein Hund läuft am Strand entlang."), ()),
        (said("", ""), ()),
        (said("   ", "x"), ()),
        (said("A dog.", " "), (EMPTY,)),
        (said("A dog runs along.", "Ein Hund Hund Hund Hund"), (LOOP,)),
        (said("very very very very good", "sehr sehr sehr sehr gut"), ()),  # the source loops as well
        (said("no no", "nein nein nein"), ()),  # three times may be meant
        (said("A dog runs along.", "am Strand am Strand am Strand"), (LOOP,)),
        (said("狗在跑步。", "狗在跑在跑在跑", pieces=6, source_pieces=5), (LOOP,)),
        (said("This is not translated here.", "this is not translated here"), (COPIED,)),
        (said("Anna Maria Schmidt", "Anna Maria Schmidt"), ()),  # a name
        (said("one two three four five six", "eins"), (LENGTH,)),
        (said("one", "zwei"), ()),
        (said("A dog runs along.", "Ein Hund läuft", finished=False), (UNFINISHED,)),
        (said("A dog runs along.", "Ein Hund läuft", log_probability=-9.0), (UNSURE,)),
        (said("See https://example.org/a?b now.", "Siehe jetzt."), (LOST,)),
        (said("See https://example.org/a now.", "Siehe https://example.org/a jetzt."), ()),
        (said("It costs {price} and {price}.", "Es kostet {price}."), (LOST,)),  # once of twice
        (said("A <b>dog</b> runs.", "Ein <b>Hund< / b> läuft."), (LOST,)),
        (said("Men &amp; dogs", "Männer & Hunde"), ()),  # an entity may be its character
        (said("He was born in 1984.", "Er wurde 1894 geboren."), (LOST,)),
        (said("It was 86,400 seconds.", "Es waren 86.400 Sekunden."), ()),
        (said("他生于一九八四年。", "He was born in 1984."), ()),
        (said("There were 500 people and 12 dogs.", "Da waren fünfhundert Leute, zwölf Hunde."), ()),  # in words
        (said("https://one.two.three.org/four", "https://one.two.three.org/four"), ()),  # not copied: kept
    ],
)
def test_each_flag(one: tuple[str, Translation], expected: tuple[str, ...]) -> None:
    assert flags(*one) == expected


@pytest.mark.parametrize(
    ("source", "pieces", "usual", "expected"),
    [
        ("abcd efgh ijkl", 8, 4.0, (UNFAMILIAR,)),  # 12 characters in 8 pieces: 1.5 of the usual 4
        ("abcd efgh ijkl mnop qr", 8, 4.0, ()),  # 18 characters: 2.25 is more than 0.55 of it
        ("abcd efgh ijkl", 8, 0.0, ()),  # nothing is known
        ("abcd", 4, 4.0, ()),  # a rare word of its own
    ],
)
def test_a_source_that_falls_into_small_pieces_is_unfamiliar(
    source: str, pieces: int, usual: float, expected: tuple[str, ...]
) -> None:
    one = said(source, "eins zwei drei vier fünf", source_pieces=pieces + 1, pieces=pieces + 1)
    assert flags(*one, UsualTexts(usual)) == expected


def test_another_language_on_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "other_language", lambda text, wanted: "fr" if text.startswith("Deux") else None)
    english, french, german = "Two men are walking.", "Deux hommes marchent.", "Zwei Männer gehen."
    usual = UsualTexts(0.0, "en", "de")
    assert flags(*said(english, german), usual) == ()
    assert flags(*said(french, german), usual) == flags(*said(english, french), usual) == (LANGUAGE,)
    assert flags(*said(french, german), UsualTexts(0.0, None, "de")) == ()  # nobody says what the source should be


@pytest.mark.parametrize(
    ("source", "text", "languages", "expected"),
    [
        ("The weather is fine today.", "It is so.", ("zh", "en"), (LANGUAGE,)),
        ("今天天气很好。", "It is so.", ("zh", "en"), ()),
        ("今天天气很好。", "Погода хорошая сегодня.", ("zh", "en"), (LANGUAGE,)),
        ("Tom!", "Tom!", ("zh", "en"), ()),  # a name
        ("iPhone多少钱，你知道吗？", "How much is an iPhone?", ("zh", "en"), ()),
        ("看 https://example.org/a/very/long/address", "See https://example.org/a/very/long/address", ("zh", "en"), ()),
        ("今天天气很好。", "It is so.", ("en", "de"), (LANGUAGE,)),
        ("今天天气很好。", "It is so.", ("hsb", None), ()),  # nobody knows its script here
    ],
)
def test_other_letters_are_another_language_without_any_package(
    monkeypatch: pytest.MonkeyPatch, source: str, text: str, languages: tuple[str, str], expected: tuple[str, ...]
) -> None:
    monkeypatch.setattr(guard, "other_language", lambda text, wanted: None)
    one = said(source, text, source_pieces=6, pieces=6)
    assert flags(*one, UsualTexts(0.0, *languages)) == expected


@given(st.text(), st.text())
def test_any_two_texts_are_judged(source: str, text: str) -> None:
    assert set(flags(*said(source, text))) <= {EMPTY, LOOP, COPIED, LENGTH, UNFINISHED, UNSURE, LOST}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(4, 6))
def test_every_phrase_that_comes_four_times_loops(phrase: list[str], times: int) -> None:
    assert loops(phrase * times)


def test_what_comes_once_is_no_loop() -> None:
    assert not loops([str(number) for number in range(100)]) and not loops([]) and not loops(["a"])
