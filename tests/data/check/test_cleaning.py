"""openwork data clean: by hand which pairs stay and why the others go, and what it does to real captions."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from data.check.test_judged_pairs import faulty
from journeys.command import Finished, told
from openwork.data.check.cleaning import RULES, chosen_rules, clean
from openwork.data.check.faults import Pairs
from openwork.data.corpora.catalogue import load
from openwork.data.records import Pair

Call = Callable[..., Finished]
NAMES = ("train.en", "train.de")
PAIRS = [
    Pair("A dog runs.", "Ein Hund rennt."),
    Pair("A cat sleeps.", ""),  # 2: blank
    Pair("A cat sleeps in the sun.", "Eine Katze schläft \ufffd der Sonne."),  # 3: damaged
    Pair("A dog runs.", "Ein Hund rennt."),  # 4: line 1 again
    Pair("a dog runs", "Ein Hund rennt!"),  # 5: nearly line 1
    Pair("This is not a translation.", "This is not a translation!"),  # 6: a copy
    Pair("Tom Smith", "Tom Smith"),
    Pair("Two  spaces.", "Zwei Leerzeichen."),  # 8: odd spaces, which stay
    Pair("A bell\x07 rings.", "Eine Glocke läutet."),  # 9: control
    Pair("A man walks his dog.", "Ein Mann führt seinen Hund aus."),
]


def cleaned(pairs: list[Pair], out: Path, drop: tuple[str, ...] = (), keep: tuple[str, ...] = ()) -> list[dict]:
    rules = chosen_rules(drop, keep)
    found = clean(Pairs(lambda: pairs, (len(pairs),)), NAMES, out, rules, None, lambda line: None)
    listed = [json.loads(line) for line in (out / "left-out.jsonl").read_text().splitlines()]
    assert found.kept == len(pairs) - len(listed)
    gone = {one["line"] for one in listed}
    for name, side in zip(NAMES, zip(*pairs, strict=True), strict=True):
        stay = [text for line, text in enumerate(side, start=1) if line not in gone]
        assert (out / name).read_text() == "".join(f"{text}\n" for text in stay)  # unchanged, in their order
    return listed


def test_by_hand(tmp_path: Path) -> None:
    found = {one["line"]: (one["rule"], one.get("partner")) for one in cleaned(PAIRS, tmp_path / "out")}
    assert found == {
        2: ("blank", None), 3: ("damaged", None), 4: ("repeated", 1), 5: ("nearly-repeated", 1),
        6: ("copies", None), 9: ("control", None),
    }  # fmt: skip
    found = {one["line"] for one in cleaned(PAIRS, tmp_path / "out", ("spaces",), ("repeated", "nearly-repeated"))}
    assert found == {2, 3, 6, 8, 9}


def test_a_copy_is_of_a_pair_that_is_kept(tmp_path: Path) -> None:
    first = Pair("A dog\x07 runs.", "Ein Hund rennt.")  # nearly the second, and itself left out
    listed = cleaned([first, *PAIRS], tmp_path / "out")
    assert {one["line"]: one.get("partner") for one in listed if "partner" in one} == {5: 2, 6: 2}


def test_every_rule_has_a_name_and_the_others_none() -> None:
    assert chosen_rules((), ()) | chosen_rules(("escapes", "not-nfc", "invisible", "spaces"), ()) == {*RULES.values()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "precision", "recall"), [(5, 0.99, 0.78), pytest.param(6, 0.99, 0.78, marks=pytest.mark.long)]
)
def test_planted_faults_are_left_out(
    openwork_data: Callable[[str], Path], tmp_path: Path, seed: int, precision: float, recall: float
) -> None:
    """A twentieth of the captions get the translation of another one."""
    openwork_data("multi30k")
    pairs = random.Random(seed).sample(list(load("multi30k-en-de", "train")), 12_000)
    noisy, planted = faulty(pairs, seed)
    found = {one["line"] - 1 for one in cleaned(noisy, tmp_path / "out") if one["rule"] == "apart"}
    assert len(found & planted) >= precision * len(found)
    assert len(found & planted) >= recall * len(planted)


def test_the_command(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, side in zip(NAMES, zip(*PAIRS, strict=True), strict=True):
        Path(name).write_text("".join(f"{text}\n" for text in side))
    command = ["data", "clean", "--source", NAMES[0], "--target", NAMES[1], "--out", "out"]
    done = call(*command)
    assert done.code == 0, done.err
    assert done.lines[0] == "kept 4 of 10 pairs" and done.lines[-1].endswith("out/left-out.jsonl")
    assert json.loads(call(*command, "--json").out)["kept"] == 4  # its own folder is written again
    told(call(*command, "--keep", "copy"), 2, "copy: no rule of data clean", "copies")
    told(call(*command[:-1], "."), 2, "a folder with other things in it")
    Path("short.de").write_text("Ein Hund.\n")
    told(call(*command[:4], "--target", "short.de", "--out", "new"), 3, "the two sides have 10 and 1 lines")
    Path("blank").write_text("\n")
    told(call("data", "clean", "--source", "blank", "--target", "blank", "--out", "new"), 3, "no pair would be kept")
    assert not Path("new").exists()
