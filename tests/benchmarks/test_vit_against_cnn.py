"""A Vision Transformer against a convolutional network: nested balanced subsets, and the comparison end to end."""

from collections import Counter
from pathlib import Path

import pytest
import vit_against_cnn
from vit_against_cnn import in_turn, measure

from openwork.data.corpora import catalogue
from openwork.data.records import Pair

PAIRS = [Pair(f"{label}/{number}", label) for label, count in (("a", 7), ("b", 3), ("c", 5)) for number in range(count)]


def test_subsets_are_balanced_nested_and_drawn_by_the_seed() -> None:
    order = in_turn(PAIRS, 1)
    assert sorted(order) == sorted(PAIRS) and order == in_turn(PAIRS, 1) != in_turn(PAIRS, 2)
    for count in (3, 6, 9):
        assert set(Counter(pair.target for pair in order[:count]).values()) == {count // 3}
    assert [pair.target for pair in order[9:13]].count("b") == 0  # there are three alone
    assert {in_turn(PAIRS, seed)[0].target for seed in range(20)} == {"a", "b", "c"}


@pytest.mark.slow
def test_both_models_are_compared_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn", reason="needs the extra tasks")
    pytest.importorskip("PIL", reason="needs the extra vision")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    catalogue.fetch("digits")
    monkeypatch.setattr(vit_against_cnn, "RATES", (0.001, 0.01))
    small = {"vit": {"model.width": 8, "model.layers": 1}, "cnn": {"model.width": 4}}
    models = {name: {**settings, **small[name]} for name, settings in vit_against_cnn.MODELS.items()}
    monkeypatch.setattr(vit_against_cnn, "MODELS", models)
    found = measure([1], [1, 2], 6, tmp_path / "out")
    assert [(row["model"], row["pictures"], len(row["test"])) for row in found["results"]] == [
        ("vit", 12, 2), ("cnn", 12, 2),
    ]  # fmt: skip
    for row in found["results"]:
        means = {rate: sum(values) for rate, values in row["validation"].items()}
        assert means[str(row["rate"])] == max(means.values()) and row["low"] <= row["value"] <= row["high"]
    (vit, cnn), (difference,) = found["results"], found["differences"]
    assert difference["share"] == "1 %" and difference["value"] == pytest.approx(vit["value"] - cnn["value"])
    assert measure([1], [1, 2], 6, tmp_path / "out") == found  # nothing is trained twice
