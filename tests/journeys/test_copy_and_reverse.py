"""Two jobs whose every answer is known: through the command line, from nothing to all answers right."""

import json
from pathlib import Path

import pytest

from journeys.command import openwork

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


@pytest.mark.slow
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_every_answer_is_right(tmp_path: Path, task: str):
    """Half a minute where nothing else runs; the time is written down in benchmarks and not held here."""
    trained = openwork("train", RECIPES / f"{task}.toml", "--out", tmp_path / "out")
    assert trained.code == 0, trained.err
    result = openwork("evaluate", "--bundle", tmp_path / "out", "--corpus", task, "--split", "test", "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert (found["exact"], found["sentences"]) == (1.0, 500)
    answer = openwork("translate", "--bundle", tmp_path / "out", stdin=b"a b c d\n\nj i h\n")
    assert answer.lines == (["a b c d", "", "j i h"] if task == "copy" else ["d c b a", "", "h i j"])
