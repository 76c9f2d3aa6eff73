"""openwork tokenize: a bundle's tokenizer or a file's, as pieces, numbers, text, or the steps between."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from journeys.command import Finished
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.text.pieces.bytepair import BytePair
from openwork.text.pieces.kinds import KINDS
from openwork.text.work import WordWork, as_data, step_lines

Call = Callable[..., Finished]
LINES = ["unhappy", "happy", "undo", "the cat sat on the mat 爱猫"] * 9


@pytest.fixture(params=list(KINDS))
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    KINDS[request.param].learn(LINES, 400).save(tmp_path / "tokenizer.json")
    return tmp_path / "tokenizer.json"


def test_the_steps_end_in_the_pieces(call: Call, file: Path) -> None:
    given = "the unhappy cat\n\n爱猫 é <s>\n".encode()
    plain = call("tokenize", "--tokenizer", file, "--json", stdin=given)
    work = call("tokenize", "--tokenizer", file, "--show-work", "--json", stdin=given)
    assert plain.code == work.code == 0
    steps = 0
    for one, other in zip(plain.out.splitlines(), work.out.splitlines(), strict=True):
        pieces, shown = json.loads(one), json.loads(other)
        assert {key: shown[key] for key in pieces} == pieces
        assert [piece for word in shown["words"] for piece in word["pieces"]] == pieces["pieces"]
        assert all(step["step"] in ("merge", "match", "arc") for word in shown["words"] for step in word["steps"])
        steps += sum(len(word["steps"]) for word in shown["words"])
    assert steps or '"merges": []' in file.read_text()  # characters alone have no steps
    told = call("tokenize", "--tokenizer", file, "--show-work", stdin=b"the unhappy cat\n")
    assert told.code == 0 and told.out.decode().splitlines()[-2].startswith("ids: ")


def test_merges_are_told_in_order(tmp_path: Path) -> None:
    tokenizer = BytePair.learn(["abc"] * 8 + ["ab"] * 4, 300)
    assert list(step_lines(tokenizer.work("abc ab"))) == [
        "word abc",
        "  start: a b c",
        "  merge of rank 0: a + b -> ab c",
        "  merge of rank 1: ab + c -> abc",
        "  pieces: abc",
        "word ▁ab",
        "  start: <0x20> a b",
        "  merge of rank 0: a + b -> <0x20> ab",
        "  pieces: <0x20> ab",
    ]
    assert as_data(tokenizer.work("ab"))[0]["steps"] == [
        {"step": "merge", "rank": 0, "position": 0, "left": "a", "right": "b"}
    ]
    long = next(iter(tokenizer.work("abc" * 40)))
    assert "->" not in "".join(step_lines([long]))  # what stands after each merge of a long word is left out


def test_tries_and_ways_are_told() -> None:
    pieces = KINDS["wordpiece"].learn(["ab"] * 4 + ["abc"] * 8, 300, minimum_frequency=4)
    assert list(step_lines(pieces.work("abb")))[1:] == [
        "  at 0: abb not in the vocabulary",
        "  at 0: ab found",
        "  at 2: ##b found",
        "  pieces: ab ##b",
    ]
    (way,) = [line for line in step_lines(KINDS["unigram"].learn(["b"] * 9, 300).work("b")) if "score" in line]
    assert way.startswith("  from 0 to 1: b  score -") and way.endswith("best")
    assert list(step_lines([WordWork("x", (), (), ("<unk>",))])) == ["word x", "  pieces: <unk>"]


@pytest.mark.slow
def test_a_bundle_and_its_file_say_the_same(call: Call, tiny_bundle: Bundle, tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", tiny_bundle)
    for option in ("--ids", "--framed", "--show-work", "--json"):
        bundle = call("tokenize", "--bundle", tmp_path / "b", option, stdin=b"a b c\n")
        file = call("tokenize", "--tokenizer", tmp_path / "b" / "tokenizer.json", option, stdin=b"a b c\n")
        assert bundle.code == file.code == 0
        assert bundle.out == file.out
    framed = call("tokenize", "--bundle", tmp_path / "b", "--framed", stdin=b"a\n").out.split()
    assert (framed[0], framed[-1]) == (b"2", b"3")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "exactly one of --bundle and --tokenizer"),
        (["--bundle", "b", "--tokenizer", "t"], 2, "exactly one of --bundle and --tokenizer"),
        (["--tokenizer", "none.json"], 3, "no such file"),
        (["--tokenizer", "FOLDER"], 3, "the folder holds no tokenizer"),
        (["--bundle", "none"], 4, "no such folder"),
        (["--tokenizer", "none.json", "--side", "left"], 2, "there is no such side"),
    ],
)
def test_what_cannot_be_is_refused(call: Call, tmp_path: Path, arguments: list[Any], code: int, said: str) -> None:
    done = call("tokenize", *(tmp_path if word == "FOLDER" else word for word in arguments), stdin=b"a\n")
    assert done.code == code
    assert said in done.err and "Traceback" not in done.err


def test_a_wrong_number_is_named_with_its_line(call: Call, file: Path) -> None:
    done = call("tokenize", "--tokenizer", file, "--decode", stdin=b"5\n99999\n")
    assert done.code == 3 and "line 2: '99999' is not a piece's number" in done.err
