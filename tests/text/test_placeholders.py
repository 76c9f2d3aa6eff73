"""Placeholders: what is one, what keeps its number on both sides, and that nothing is lost on the way."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openwork.base.errors import ConfigError
from openwork.base.files import read_lines
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.placeholders import (
    Protected,
    Restored,
    find_placeholders,
    placeholder_places,
    protect,
    protect_like,
    protect_pair,
    restore,
    without_placeholders,
)
from openwork.text.settings import TextSettings

FOUND = [
    ("%s files, %d%% of %5.2f", ["%s", "%d", "%%", "%5.2f"]),
    ("%(name)s and %(n)ds", ["%(name)s", "%(n)d"]),
    ("%1$s before %2$-10s", ["%1$s", "%2$-10s"]),
    ("{0} {name} {a.b[0]!r:>10} {}", ["{0}", "{name}", "{a.b[0]!r:>10}", "{}"]),
    ("{{ user.name }} pays ${amount}", ["{{ user.name }}", "${amount}"]),
    ("<b>bold</b><br/>", ["<b>", "</b>", "<br/>"]),
    ("<a href=\"x.html\" class='y' id=3>link</a>", ["<a href=\"x.html\" class='y' id=3>", "</a>"]),
    ('a <g id="1">b</g><x id="2"/>', ['<g id="1">', "</g>", '<x id="2"/>']),
    ("salt &amp; pepper &#20013; &#x4e2d;", ["&amp;", "&#20013;", "&#x4e2d;"]),
    ("see https://a.org/b_(c)?d=e#f.", ["https://a.org/b_(c)?d=e#f"]),
    ("请看https://a.org/b。或 me@a.org！", ["https://a.org/b", "me@a.org"]),
    ("call :meth:`~object.__index__`, ``x < y`` or `z`", [":meth:`~object.__index__`", "``x < y``", "`z`"]),
    ("使用:c:func:`f`，", [":c:func:`f`"]),
    ("the :ref:`debug mode <debug-build>`,", [":ref:`", "<debug-build>`"]),
    ("`Eric <https://eric.org/>`_ is", ["<https://eric.org/>`_"]),
    ("|release| [1]_ [#note]_", ["|release|", "[1]_", "[#note]_"]),
]
NOTHING = [
    "",
    "100 % sure, 5%de, 30% so",
    "a < b and c > d",
    "i<3 {1, 2} f(x|y|z) x | y",
    "AT&T; R&D; a & b",
    "3:30, `open, user@, $100",
    "见图 5。",
]
WORDS = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), max_size=12)
SENTENCES = st.lists(st.sampled_from(["%s", "%d", "<b>", "</b>", "{0}", "``x``", " ", "中", "a"]) | WORDS).map("".join)


@pytest.mark.parametrize(("text", "expected"), FOUND)
def test_what_is_a_placeholder(text: str, expected: list[str]) -> None:
    assert find_placeholders(text) == expected
    assert [text[begin:end] for begin, end in placeholder_places(text)] == expected


@pytest.mark.parametrize("text", NOTHING)
def test_what_is_none(text: str) -> None:
    assert find_placeholders(text) == []


def test_what_holds_a_line_separator_is_none() -> None:
    assert find_placeholders("``a\u2028b`` ``c``") == ["``c``"]


def test_numbers_follow_the_source() -> None:
    left, right = protect_pair("put %s into {0}", "in {0} lege %s", most=20)
    assert left == Protected(("put ", 1, " into ", 2), ("%s", "{0}"))
    assert right == Protected(("in ", 2, " lege ", 1), ("%s", "{0}"))


def test_what_one_side_has_alone_stays_text() -> None:
    left, right = protect_pair("%s {a} %s", "{b} %s", most=20)
    assert left == Protected((1, " {a} %s"), ("%s",))
    assert right == Protected(("{b} ", 1), ("%s",))


def test_the_same_placeholder_twice_has_two_numbers() -> None:
    left, right = protect_pair("%s of %s", "%s von %s", most=20)
    assert left.pieces == (1, " of ", 2)
    assert right.pieces == (1, " von ", 2)


def test_no_more_numbers_than_there_are_pieces() -> None:
    left, right = protect_pair("%s %d {0}", "{0} %d %s", most=2)
    assert left.pieces == (1, " ", 2, " {0}")
    assert right.pieces == ("{0} ", 2, " ", 1)
    assert protect("%s %d {0}", 2) == Protected((1, " ", 2, " {0}"), ("%s", "%d"))
    assert protect("%s", 0) == Protected(("%s",))
    assert protect_pair("%s", "%s", 0) == (Protected(("%s",)), Protected(("%s",)))


def test_a_part_of_a_target_gets_the_numbers_of_its_source() -> None:
    assert protect_like("lege %s {x}", ("{0}", "%s")).pieces == ("lege ", 2, " {x}")


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("in ", 2, " lege ", 1), Restored("in {0} lege %s")),
        (("lege ", 1), Restored("lege %s", ("{0}",))),
        ((1, " ", 1, 2), Restored("%s {0}")),
        ((1, 2, 7), Restored("%s{0}")),
        ((), Restored("", ("%s", "{0}"))),
    ],
)
def test_each_placeholder_comes_back_once(pieces: tuple[str | int, ...], expected: Restored) -> None:
    assert restore(pieces, ("%s", "{0}")) == expected


@pytest.mark.slow
@given(source=SENTENCES, target=SENTENCES, most=st.integers(0, 5))
def test_protecting_loses_nothing_and_pairs_what_is_equal(source: str, target: str, most: int) -> None:
    left, right = protect_pair(source, target, most)
    assert restore(left.pieces, left.spans) == Restored(source)
    assert restore(right.pieces, right.spans) == Restored(target)
    numbers = [sorted(piece for piece in side.pieces if isinstance(piece, int)) for side in (left, right)]
    assert numbers[0] == numbers[1] == list(range(1, len(left.spans) + 1))
    assert restore(protect(source, most).pieces, protect(source, most).spans) == Restored(source)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *("a" * 200_000, "<a " * 70_000, "<a b=c" + " b=c" * 50_000, "`" * 200_000, ":a:" * 70_000, ":a:`" * 50_000),
        *("http://" + "." * 200_000, "%(" * 100_000, "{" * 200_000, "a@" * 100_000, "|a" * 100_000, "&a" * 100_000),
    ],
)
def test_no_text_takes_long(text: str) -> None:
    begin = time.process_time()
    find_placeholders(text)
    assert time.process_time() - begin < 2


# ------------------------------------------------------------------------------------------------ as pieces

ENGLISH = ["copy %s to <b>{0}</b>", "the file %s is open", "open the file {0}"] * 30
GERMAN = ["kopiere %s nach <b>{0}</b>", "die Datei %s ist offen", "öffne die Datei {0}"] * 30
KINDS = ("byte-pair", "byte-level", "wordpiece", "unigram", "characters", "words")


@pytest.fixture(scope="module", params=[("byte-pair", False), *((kind, True) for kind in KINDS)], ids=str)
def tokenizers(request: pytest.FixtureRequest) -> TokenizerPair:
    kind, shared = request.param
    return train_pair(ENGLISH, GERMAN, TextSettings(kind=kind, vocabulary_size=500, shared=shared, placeholders=3))


def test_a_placeholder_is_one_piece_on_both_sides(tokenizers: TokenizerPair) -> None:
    (source,), (target,) = zip(*tokenizers.encode_pairs(["the %s {0}"], ["die {0} %s"]), strict=True)
    one, two = tokenizers.source.placeholder_id(1), tokenizers.source.placeholder_id(2)
    assert [number for number in source if number in (one, two)] == [one, two]
    one, two = tokenizers.target.placeholder_id(1), tokenizers.target.placeholder_id(2)
    assert [number for number in target if number in (one, two)] == [two, one]
    assert tokenizers.encode_target("die {0} %s", ("%s", "{0}")) == target


def test_ids_give_the_text_back_with_the_placeholders_of_the_source(tokenizers: TokenizerPair) -> None:
    ids = tokenizers.encode_target("die Datei {0} %s", ("%s", "{0}"))
    assert tokenizers.decode_target(ids, ("%s", "{0}")) == Restored("die Datei {0} %s")
    assert tokenizers.decode_target(ids, ("<i>", "</i>")) == Restored("die Datei </i> <i>")
    assert tokenizers.decode_target(ids, ("<i>",)) == Restored("die Datei  <i>")
    assert tokenizers.decode_target(ids[:1], ("<i>", "x")).missing == ("<i>", "x")


def test_sources_have_numbers_up_to_what_the_vocabulary_has(tokenizers: TokenizerPair) -> None:
    (ids, spans), (blank, none) = tokenizers.encode_sources(["a %s %d {0} {1}", ""])
    assert spans == ("%s", "%d", "{0}")
    assert [tokenizers.source.placeholder_number(number) for number in ids if number >= 4].count(None) < len(ids)
    assert (blank, none) == ([], ())


def test_text_forges_no_placeholder(tokenizers: TokenizerPair) -> None:
    numbers = {tokenizers.source.placeholder_id(number) for number in (1, 2, 3)}
    ((ids, spans),) = tokenizers.encode_sources(["⟦1⟧ %s"])
    assert spans == ("%s",)
    assert [number for number in ids if number in numbers] == [tokenizers.source.placeholder_id(1)]


def test_without_the_setting_nothing_changes() -> None:
    plain = train_pair(ENGLISH, GERMAN, TextSettings(vocabulary_size=500))
    assert plain.placeholders == 0
    assert [ids for ids, _ in plain.encode_sources(ENGLISH)] == plain.source.encode_batch(ENGLISH)
    pairs = list(plain.encode_pairs(ENGLISH, GERMAN))
    assert pairs == list(zip(plain.source.encode_batch(ENGLISH), plain.target.encode_batch(GERMAN), strict=True))
    assert plain.decode_target(plain.target.encode("öffne %s")) == Restored("öffne %s")


def test_the_vocabulary_learns_nothing_of_placeholders() -> None:
    lines = ["<blink> now"] * 50
    assert list(without_placeholders(["put %s into", "%s", "x"])) == ["put ", " into", "", "x"]
    learnt = [train_pair(lines, lines, TextSettings(vocabulary_size=400, placeholders=n)) for n in (0, 5)]
    known = ["blink" in set(map(pair.source.piece, range(260, pair.source.vocabulary_size))) for pair in learnt]
    assert known == [True, False]


@pytest.mark.slow
def test_real_markup_is_found_and_comes_back(openwork_data) -> None:
    folder: Path = openwork_data("python-docs-en-zh")
    sides = zip(read_lines(folder / "python-docs.en.gz"), read_lines(folder / "python-docs.zh.gz"), strict=True)
    found = 0
    for source, target in sides:
        left, right = protect_pair(source, target, 20)
        found += bool(left.spans)
        assert restore(left.pieces, left.spans) == Restored(source)
        assert restore(right.pieces, right.spans) == Restored(target)
    assert found > 25_000


@pytest.mark.parametrize("number", [0, 4])
def test_only_reserved_numbers_have_a_piece(number: int) -> None:
    tokenizer = train_pair(["a"], ["b"], TextSettings(vocabulary_size=400, placeholders=3)).source
    with pytest.raises(ConfigError, match=f"placeholder {number}: the vocabulary reserves 3") as refused:
        tokenizer.placeholder_id(number)
    assert "text.placeholders" in refused.value.hint
