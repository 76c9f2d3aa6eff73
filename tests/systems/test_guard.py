"""Flags: what each one means, and that good translations have none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.systems.guard import COPIED, EMPTY, LENGTH, LOOP, UNFINISHED, UNSURE, Said, flags, loops


def said(source: str, text: str, **changes: object) -> Said:
    values = {"source_pieces": len(source.split()) + 1, "pieces": len(text.split()) + 1, "log_probability": -1.0}
    return Said(source, text, **{**values, **changes})  # type: ignore[arg-type]


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
    ],
)
def test_each_flag(one: Said, expected: tuple[str, ...]) -> None:
    assert flags(one) == expected


@given(st.text(), st.text())
def test_any_two_texts_are_judged(source: str, text: str) -> None:
    assert set(flags(said(source, text))) <= {EMPTY, LOOP, COPIED, LENGTH, UNFINISHED, UNSURE}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.integers(4, 6))
def test_every_phrase_that_comes_four_times_loops(phrase: list[str], times: int) -> None:
    assert loops(phrase * times)


def test_what_comes_once_is_no_loop() -> None:
    assert not loops([str(number) for number in range(100)]) and not loops([]) and not loops(["a"])
