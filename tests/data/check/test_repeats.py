"""Copies and leaks, planted among sentences that only look alike."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openwork.data.check import repeats as module
from openwork.data.check.faults import at, file_pairs, named_pairs
from openwork.data.check.pairs import length_faults
from openwork.data.check.repeats import leaks, plain, repeats, shingles_of
from openwork.data.records import Pair

TRAINING = [
    Pair("two men walk along the beach at night", "zwei männer gehen nachts am strand entlang"),
    Pair("a dog runs", "ein hund läuft"),
    Pair("three children play with a red ball in the park", "drei kinder spielen im park mit einem roten ball"),
]


BLANK = [Pair("", ""), Pair("", "a"), Pair("a", " ")]


def test_copies_are_named_where_they_come_again() -> None:
    pairs = [*TRAINING, TRAINING[1], Pair("A dog runs!", "Ein Hund läuft."), Pair("a dog runs", "der hund rennt")]
    assert [(fault.kind, fault.line, fault.partner) for fault in repeats([*pairs, *BLANK, *BLANK])] == [
        (module.TWICE, 4, 2),
        (module.NEARLY_TWICE, 5, 2),
    ]


def test_leaks_are_exact_or_near() -> None:
    held_out = [
        Pair("a dog runs", "ein hund läuft"),
        Pair("a dog runs", "ein hund rennt"),
        Pair("A dog runs .", "ein hund läuft"),
        Pair("two men walk along the beach at night together", "zwei männer"),
        Pair("two men walk along the street at noon", "zwei männer"),
        Pair("", ""),
    ]
    assert [(fault.kind, fault.line, fault.partner) for fault in leaks(held_out, TRAINING)] == [
        (module.LEAK, 1, 2),
        (module.SOURCE_LEAK, 2, 2),
        (module.NEAR_LEAK, 3, 2),
        (module.NEAR_LEAK, 4, 1),
    ]


def test_what_two_copies_may_differ_in() -> None:
    assert plain("Two  MEN, 12 dogs!") == plain("two men 99 dogs")
    assert plain("ＡＢＣ") == "abc" and plain("狗跑。") == "狗 跑"
    assert shingles_of("a b") == {"a b"} and shingles_of("a b c d") == {"a b c", "b c d"} and shingles_of("!") == set()


def test_lengths_are_judged_by_what_is_usual() -> None:
    usual = [Pair("word " * n, "wort " * n) for n in range(1, 40)]
    assert list(length_faults(usual)) == [] == list(length_faults([]))
    (found,) = length_faults([*usual, Pair("one sentence that is rather long, and then some", "ja")])
    assert found.line == 40


def test_files_are_read_as_they_are(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_bytes(b"\xef\xbb\xbfone\r\n\xff\xfe two\nthree\n")
    target.write_bytes(b"eins\nzwei" + b"x" * 3_000_000)
    read = file_pairs(source, target)
    assert read.counts == (3, 2) and len(read) == 3 and list(read) == list(read)
    pairs = list(read)
    assert pairs[0] == ("one", "eins") and pairs[1].source == "\ufffd\ufffd two" and pairs[2] == ("three", "")
    assert pairs[1].target.startswith("zwei") and len(pairs[1].target) <= 1_000_000


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe, other = tmp_path / "pipe", tmp_path / "t"
    os.mkfifo(pipe)
    other.write_bytes(b"eins\n")
    writer = threading.Thread(target=lambda: pipe.write_bytes(b"one\ntwo\n"))
    writer.start()
    read = file_pairs(pipe, other)
    writer.join()
    assert read.counts == (2, 1) and list(read) == list(read) == [Pair("one", "eins"), Pair("two", "")]


def test_only_some_are_read_again() -> None:
    gone_through = []

    def load() -> Iterator[Pair]:
        for number in range(9):
            gone_through.append(number)
            yield Pair(str(number), "x")

    read = named_pairs(load)
    assert len(read) == 9 == len(gone_through)
    gone_through.clear()
    assert list(at(read, [0, 3, 4])) == [(1, Pair("0", "x")), (4, Pair("3", "x")), (5, Pair("4", "x"))]
    assert gone_through == [0, 1, 2, 3, 4]
    gone_through.clear()
    assert list(at(read, [])) == [] == gone_through


@pytest.mark.parametrize("size", [0, 1])
def test_little_is_no_trouble(size: int) -> None:
    assert list(repeats(TRAINING[:size])) == [] == list(leaks(TRAINING[:size], []))
