"""Baselines of those that write: which text is nearest, how many first words, and what they score."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from journeys.command import Finished
from openwork.data.records import Pair
from openwork.evaluation.baselines import Nearest, lead, nearest, text_baseline
from openwork.evaluation.evaluate import EvaluationSet

TRAIN = [
    Pair("open (path) : opens the file of that path and reads it", "Opens the file."),
    Pair("close () : closes the window without asking anybody", "Closes the window."),
    Pair("sum (numbers) : adds the numbers up, one by one", "Adds the numbers."),
]


def test_cosine_by_hand() -> None:
    # of two texts: "a" is in both and weighs 1, "b" in one and weighs 1 + ln(3 / 2); "c" twice (1 + ln 2) as much
    rare = 1 + math.log(3 / 2)
    number, cosine = Nearest(["a b", "a c c"]).find("b")
    assert (number, cosine) == (0, pytest.approx(rare / math.hypot(1, rare)))
    number, cosine = Nearest(["a b", "a c c"]).find("C, a!")
    twice = (1 + math.log(2)) * rare
    own = rare * twice + 1
    assert (number, cosine) == (1, pytest.approx(own / math.hypot(1, twice) / math.hypot(1, rare)))
    assert Nearest(["a", "b"]).find("nothing of it") == (0, 0)
    assert Nearest(["a b", "b a"]).find("a b") == (0, pytest.approx(1))  # the first of equals


def test_nearest_gives_the_target_of_its_pair() -> None:
    assert nearest(TRAIN, ["which numbers are added"])[1] == ["Adds the numbers."]
    # behind the colon there is no window
    assert nearest(TRAIN, ["window : the file of a path"], " : ")[1] == ["Opens the file."]


def test_lead_has_as_many_words_as_score_best() -> None:
    what, told = lead(TRAIN, ["x : writes the line of that name", "y : ends"], " : ")
    assert what == "the first 3 words of the text" and told == ["writes the line", "ends"]
    assert lead(TRAIN, ["no mark here at all"], " : ")[1] == ["no mark here"]


def test_scores_and_what_is_saved() -> None:
    tested = EvaluationSet(
        [Pair("f : opens the file of it", "Opens the file."), Pair("g : has two", "Has two.")], "two"
    )
    found, saved = text_baseline("lead", EvaluationSet(TRAIN, "train"), tested, " : ")
    scores = {score.name: score.value for score in found.scores}
    assert scores == {"ROUGE-1": 100, "ROUGE-2": 100, "ROUGE-L": 100, "exact": 0}  # case and stop are not the same
    assert saved.task == "texts" and list(saved.translations) == ["opens the file", "has two"]


@pytest.mark.slow
def test_a_model_is_compared_with_its_baseline(
    call: Callable[..., Finished], bundle_folder: Path, pair_files: tuple[Path, Path], tmp_path: Path
) -> None:
    """A corpus of copies: the nearest known text is the text itself; a model without training writes none of them."""
    files = ("--source", pair_files[0], "--reference", pair_files[1])
    known = ("--train-source", pair_files[0], "--train-reference", pair_files[1])
    assert call("baseline", *known, *files, "--by", "nearest", "--out", tmp_path / "nearest").code == 0
    scored = call("evaluate", "--bundle", bundle_folder, *files, "--texts", "--json", "--out", tmp_path / "model")
    names = [score["name"] for score in json.loads(scored.out)["scores"]]
    assert names == ["ROUGE-1", "ROUGE-2", "ROUGE-L", "exact"]
    found = json.loads(call("compare", tmp_path / "model", tmp_path / "nearest", "--trials", "40", "--json").out)
    assert (found["task"], found["examples"]) == ("texts", 40)
    assert [metric["metric"] for metric in found["metrics"]] == names
    assert all(metric["second"]["value"] == 100 and metric["significant"] for metric in found["metrics"])
