"""Films and spoken digits with questions: answers by hand, and what no split shares with another."""

from itertools import islice, pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.data.corpora import spoken_digits
from openwork.data.corpora.drawings import HELD_OUT
from openwork.data.corpora.moving_shapes import FRAMES, MOTIONS, SIDE, Film, films, strip
from openwork.data.corpora.spoken_digits import WORDS
from openwork.data.corpora.spoken_questions import INSTRUCTIONS, answer, asked_in, read_tasks
from openwork.data.pairs import PairSource
from openwork.data.readers.file_lists import PICTURES, read_list
from openwork.data.records import UNSAID, Pair
from openwork.data.settings import OriginSettings
from openwork.data.sources import hold_out, source_of


def test_answers_of_films() -> None:
    film = Film("red", "bar", "left")
    assert film.answer(("motion", "colour")) == "left red" and film.answer(("form",)) == "bar"
    for split in ("train", "valid", "test"):
        pairs = {(film.colour, film.form) for film, _, _ in islice(films(split), 200)}
        assert pairs <= HELD_OUT if split == "test" else not pairs & HELD_OUT


@pytest.mark.parametrize("motion", MOTIONS)
def test_a_shape_moves_as_it_is_said(motion: str) -> None:
    for number in range(20):
        pixels = strip(Film("white", "square", motion), Random(number)).reshape(FRAMES, SIDE, SIDE, 3)
        bright = [np.argwhere(frame.min(-1) > 150) for frame in pixels]
        assert {len(one) for one in bright} == {49}  # wholly within each frame
        moves = {tuple((after - before).mean(0).round().astype(int)) for before, after in pairwise(bright)}
        assert moves == {tuple(2 * one for one in MOTIONS[motion])}


def test_answers_of_instructions() -> None:
    assert [answer("seven", one) for one in ("once", "twice", "then two", "after two")] == [
        "seven", "seven seven", "seven two", "two seven",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="before two"):
        answer("seven", "before two")


def test_each_recording_has_both_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair("0_theo_0.wav", "zero"), Pair("5_theo_0.wav", "five")]
    monkeypatch.setattr(spoken_digits, "read", lambda split, folder, speaker: iter(pairs))
    assert list(read_tasks("train", None)) == [
        Pair("0_theo_0.wav\ttranscribe", "zero"),
        Pair("0_theo_0.wav\ttranslate", "null"),
        Pair("5_theo_0.wav\ttranscribe", "five"),
        Pair("5_theo_0.wav\ttranslate", "fünf"),
    ]


def test_no_instruction_of_a_digit_is_in_two_splits() -> None:
    assert len(INSTRUCTIONS) == 22
    for word in WORDS:
        parts = [asked_in(split, word) for split in ("train", "valid", "test")]
        assert list(map(len, parts)) == [18, 2, 2] and set().union(*parts) == set(INSTRUCTIONS)
    for split in ("valid", "test"):  # each of these instructions is learnt with other digits
        assert {one for word in WORDS for one in asked_in(split, word)} <= {
            one for word in WORDS for one in asked_in("train", word)
        }


def test_a_table_may_ask(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(name.encode())
    table = tmp_path / "table.csv"
    table.write_text("file,question,text\na.png,what,a\na.png,where,left\nb.png,what,b\n")
    a, b = (str(tmp_path / name) for name in ("a.png", "b.png"))
    expected = [Pair(f"{a}\twhat", "a"), Pair(f"{a}\twhere", "left"), Pair(f"{b}\twhat", "b")]
    assert list(read_list(table, PICTURES)) == expected
    table.write_text("file,question,question,text\na.png,what,where,a\n")
    with pytest.raises(DataError, match=":1:"):
        list(read_list(table, PICTURES))
    table.write_text("file,question,text\na.png,what\n")
    with pytest.raises(DataError, match=":2:"):
        list(read_list(table, PICTURES))


def test_all_questions_about_a_file_are_on_one_side(tmp_path: Path) -> None:
    lines = ["file,question,text\n"]
    for number in range(40):
        (tmp_path / f"{number}.png").write_bytes(bytes([number]))
        lines += [f"{number}.png,{question},x\n" for question in ("what", "where")]
    (tmp_path / "table.csv").write_text("".join(lines))
    found: PairSource = source_of(OriginSettings(pictures=str(tmp_path / "table.csv")), "train", UNSAID)
    sides = [{pair.source.partition("\t")[0] for pair in part.read()} for part in hold_out(found, 0.3)]
    assert not sides[0] & sides[1] and len(sides[0]) + len(sides[1]) == 40 and len(sides[1]) > 4
