"""Two jobs whose every answer is known: through the command line, from nothing to all answers right."""

import json
from pathlib import Path

import pytest

from faults.nursery import Nursery

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
# Copying is learnt long before its recipe ends, and reversing is not.
SHORTER = {"copy": ("steps=500", "warmup=100", "cooldown=350"), "reverse": ()}


@pytest.mark.slow
@pytest.mark.parametrize("task", ["copy", pytest.param("reverse", marks=pytest.mark.long)])
def test_every_answer_is_right(nursery: Nursery, tmp_path: Path, task: str):
    """Half a minute where nothing else runs; the time is written down in benchmarks and not held here."""
    shorter = [word for one in SHORTER[task] for word in ("--set", f"training.{one}")]
    trained = nursery.run("train", RECIPES / f"{task}.toml", "--out", tmp_path / "out", *shorter)
    assert trained.code == 0, trained.err
    result = nursery.run("evaluate", "--bundle", tmp_path / "out", "--corpus", task, "--split", "test", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert (found["exact"], found["sentences"]) == (1.0, 500)
    answer = nursery.run("translate", "--bundle", tmp_path / "out", stdin=b"a b c d\n\nj i h\n")
    assert answer.lines == (["a b c d", "", "j i h"] if task == "copy" else ["d c b a", "", "h i j"])
