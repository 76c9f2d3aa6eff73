"""Marks in translations: worked by hand, and for any marks, text and weights each once and well-formed."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.showing import has_same_marks, is_well_formed, parts_of, shown
from openwork.documents.alignment import AlignedSentence, Alignment
from openwork.documents.placing import place_marks
from openwork.documents.segments import Mark, Parts, Role, joined, plain


def words(text: str) -> list[tuple[int, int]]:
    """The places of what stands between spaces; a full stop is a word of its own."""
    found, begin = [], 0
    for word in text.replace(".", " .").split():
        begin = text.index(word, begin)
        found.append((begin, begin + len(word)))
        begin += len(word)
    return found


def aligned(source: str, target: str, links: Mapping[int, int]) -> AlignedSentence:
    """A sentence whose words come each from one word, by their numbers."""
    left, right = words(source), words(target)
    rows = [[0.9 * (links.get(place) == other) for other in range(len(left))] for place in range(len(right))]
    return AlignedSentence((0, len(source)), (0, len(target)), Alignment(left, right, rows))


CLICK = "Click here now.", "Klicken Sie jetzt hier.", {0: 0, 1: 0, 2: 2, 3: 1, 4: 3}
DOG = "The big dog has not slept", "Der große Hund hat nicht geschlafen", {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
SWAP = "he gave it up", "er gab es auf", {0: 0, 1: 1, 2: 2, 3: 1}


@pytest.mark.parametrize(
    ("parts", "example", "wanted"),
    [
        ("Click [0:here:0] now.", CLICK, "Klicken Sie jetzt [0:hier:0]."),
        ("[0:Click:0] here now.", CLICK, "[0:Klicken Sie:0] jetzt hier."),
        ("[0:Click [1:here now:1].:0]", CLICK, "[0:Klicken Sie [1:jetzt hier:1].:0]"),
        ("[0:Click here now.:0]", CLICK, "[0:Klicken Sie jetzt hier.:0]"),
        ("[0:[1:Click here now.:1]:0]", CLICK, "[0:[1:Klicken Sie jetzt hier.:1]:0]"),
        ("Click here[0] now.", CLICK, "Klicken Sie jetzt hier[0]."),  # it touches the word before, as a footnote does
        ("Click here [0]now.", CLICK, "Klicken Sie [0]jetzt hier."),  # and this the one after
        ("[0]Click here now.[1]", CLICK, "[0]Klicken Sie jetzt hier.[1]"),
        ("Click [0=here] now.", CLICK, "Klicken Sie jetzt [0=here]."),
        ("The [0:big [1:dog:1]:0] has", DOG, "Der [0:große [1:Hund:1]:0] hat nicht geschlafen"),
        ("The [0:big:0] [1:dog:1] has", DOG, "Der [0:große:0] [1:Hund:1] hat nicht geschlafen"),
        ("he [0:gave:0] it up", SWAP, "er [0:gab:0] es auf"),  # scattered: the shortest of the heaviest runs
    ],
)
def test_worked_examples(parts: str, example: tuple[str, str, dict[int, int]], wanted: str) -> None:
    source, target, links = example
    marked = parts_of(parts if plain(parts_of(parts)) == source else parts + source[len(plain(parts_of(parts))) :])
    assert plain(marked) == source
    assert shown(place_marks(marked, target, [aligned(source, target, links)])) == wanted


def test_several_sentences() -> None:
    source, target = "A dog. It runs.", "Ein Hund. Er rennt."
    one = aligned("A dog.", "Ein Hund.", {0: 0, 1: 1, 2: 2}).alignment
    two = aligned("It runs.", "Er rennt.", {0: 0, 1: 1, 2: 2}).alignment
    sentences = [AlignedSentence((0, 6), (0, 9), one), AlignedSentence((7, 15), (10, 19), two)]
    for parts, wanted in (
        ("A dog.[0] It runs.", "Ein Hund.[0] Er rennt."),
        ("A dog. [0]It runs.", "Ein Hund. [0]Er rennt."),
        ("[0:A dog.:0] It [1:runs:1].", "[0:Ein Hund.:0] Er [1:rennt:1]."),
        ("A [0:dog. It:0] runs.", "Ein [0:Hund. Er:0] rennt."),
    ):
        assert plain(parts_of(parts)) == source
        assert shown(place_marks(parts_of(parts), target, sentences)) == wanted


def test_chinese_has_no_spaces_to_keep() -> None:
    target = "红色汽车"
    alignment = Alignment([(0, 3), (4, 8)], [(0, 2), (2, 4)], [[0.8, 0.1], [0.1, 0.7]])
    sentence = AlignedSentence((0, 8), (0, 4), alignment)
    assert shown(place_marks(parts_of("red [0:cars:0]"), target, [sentence])) == "红色[0:汽车:0]"
    assert shown(place_marks(parts_of("[0:red:0] cars"), target, [sentence])) == "[0:红色:0]汽车"


def test_without_alignment_marks_are_kept() -> None:
    """A model that does not attend: each mark is there, wherever."""
    sentence = AlignedSentence((0, 9), (0, 8))
    found = place_marks(parts_of("a [0:dog:0] [1]ran"), "ein Hund", [sentence])
    assert has_same_marks(found, parts_of("[0::0][1]"))
    assert plain(found) == "ein Hund"


@st.composite
def marked_texts(draw: st.DrawFn) -> Parts:
    """A text with well-formed marks."""
    left, opened, key = draw(st.integers(0, 8)), [], 0
    found: list[str | Mark] = []
    while left or opened:
        found.append(draw(st.text("ab .\n世", max_size=4)))
        kind = draw(st.sampled_from(["open", "close", "alone"]))
        if (kind == "close" or not left) and opened:
            found.append(Mark(opened.pop(), Role.CLOSE))
        elif left:
            role = Role.OPEN if kind == "open" else Role.ALONE
            found.append(Mark(key, role, draw(st.sampled_from(["", "ls", "x y"])) if role is Role.ALONE else ""))
            opened += [key] if role is Role.OPEN else []
            key, left = key + 1, left - 1
    return joined([*found, draw(st.text("ab .", max_size=4))])


@st.composite
def alignments(draw: st.DrawFn, source: str, target: str) -> list[AlignedSentence]:
    """One sentence or two, of any pieces with any weights."""

    def halves(text: str) -> list[tuple[int, int]]:
        cut = draw(st.integers(0, len(text)))
        return [(0, cut), (cut, len(text))] if draw(st.booleans()) else [(0, len(text))]

    def pieces(span: tuple[int, int]) -> list[tuple[int, int]]:
        ends = sorted({0, span[1] - span[0], *draw(st.lists(st.integers(0, span[1] - span[0]), max_size=4))})
        return list(pairwise(ends))

    found = []
    for left, right in zip(halves(source), halves(target), strict=False):
        one, other = pieces(left), pieces(right)
        rows = [[draw(st.floats(0, 1)) for _ in one] for _ in other]
        found.append(AlignedSentence(left, right, Alignment(one, other, rows)))
    return found


@given(st.data(), marked_texts(), st.text("xy .ls世", max_size=20))
def test_any_marks_come_once_and_well_formed(data: st.DataObject, parts: Parts, target: str) -> None:
    found = place_marks(parts, target, data.draw(alignments(plain(parts), target)))
    assert has_same_marks(found, parts)
    assert is_well_formed(found)
    if not any(isinstance(part, Mark) and part.text for part in parts):
        assert plain(found) == target


def test_many_marks_and_deep_ones() -> None:
    """Ten thousand marks in a row, and as many within each other: no recursion, and no time that grows with squares."""
    count = 10_000
    sentences = [AlignedSentence((2 * n, 2 * n + 1), (2 * n, 2 * n + 1)) for n in range(count)]
    flat = parts_of("".join(f"a[{key}] " for key in range(count)))
    assert shown(place_marks(flat, "x " * count, sentences)) == "".join(f"x[{key}] " for key in range(count))
    deep = parts_of(
        "".join(f"[{key}:a " for key in range(count)) + "".join(f":{key}]" for key in reversed(range(count)))
    )
    found = place_marks(deep, "x " * count, sentences)
    assert has_same_marks(found, deep) and is_well_formed(found)
