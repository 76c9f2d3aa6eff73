"""Simple classifiers of scikit-learn's digits beside `recipes/digits-vit.toml`, on the same splits.

    python benchmarks/digits_baselines.py > baselines.json

Logistic regression on the pixels, and the label of the nearest training picture. It needs openwork[tasks,vision].
"""

import json

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from openwork.data.corpora.catalogue import load
from openwork.evaluation.label_scores import label_scores
from openwork.signals.pictures import read_picture
from openwork.signals.settings import PictureSettings

PIXELS = PictureSettings(height=8, width=8, channels=1, patch=2)


def split(name: str) -> tuple[np.ndarray, list[str]]:
    """The pixels (picture, 64) from 0 to 1, and the labels."""
    pairs = list(load("digits", name))
    return np.stack([read_picture(pair.source, PIXELS).flatten() / 255 for pair in pairs]), [p.target for p in pairs]


def main() -> None:
    (pixels, labels), (tested, references) = split("train"), split("test")
    found = {}
    for name, model in (("regression", LogisticRegression(max_iter=1000)), ("nearest", KNeighborsClassifier(1))):
        accuracy, *_ = label_scores("classify", references, model.fit(pixels, labels).predict(tested).tolist(), 1000)
        found[name] = {"value": accuracy.value, "low": accuracy.low, "high": accuracy.high}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
