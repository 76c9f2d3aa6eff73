"""Top-5 accuracy: whether the right label is among the five most probable ones, where there are more than five."""

from pathlib import Path

import numpy as np
import pytest

from inference.test_explain_picture import made
from openwork.data.records import Pair
from openwork.evaluation.evaluate import EvaluationSet
from openwork.evaluation.label_scores import top_score
from openwork.evaluation.labels import evaluate_labels
from openwork.inference.labeller import Labeller


def test_by_hand() -> None:
    listed = [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "c", "b"]]
    found = top_score(["a", "a", "a", " c "], listed, 2)
    assert (found.name, found.value) == ("top-2 accuracy", 75.0)
    assert top_score(["a", "a", "a", "c"], listed, 1).value == 25.0


@pytest.mark.slow
@pytest.mark.parametrize("classes", [5, 6, 9])
def test_pictures_of_more_than_five_classes_have_it(classes: int, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
    labels = [f"class-{number}" for number in range(classes)]
    bundle, pairs = made(labels), []
    for number in range(30):
        path = str(tmp_path / f"{number}.png")
        image.fromarray(np.random.default_rng(number).integers(0, 256, (4, 6), np.uint8)).save(path)
        pairs.append(Pair(path, labels[number % classes]))
    result, saved = evaluate_labels(bundle, EvaluationSet(pairs, "some"), print, lambda count: None)
    scores = {score.name: score.value for score in result.scores}
    assert ("top-5 accuracy" in scores) == (classes > 5)
    if classes > 5:
        found = Labeller(bundle.model, bundle.tokenizers, "classify").label([pair.source for pair in pairs], classes)
        places = [
            [one.label for one in text.places[0]].index(pair.target) for text, pair in zip(found, pairs, strict=True)
        ]
        assert scores["top-5 accuracy"] == pytest.approx(100 * sum(place < 5 for place in places) / 30)
        assert scores["accuracy"] == pytest.approx(100 * places.count(0) / 30)
        assert saved.translations == [text.best[0] for text in found]
