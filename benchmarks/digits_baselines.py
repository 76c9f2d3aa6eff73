"""Simple classifiers of pictures beside `recipes/digits-vit.toml` and `recipes/fashion-mnist.toml`, on the same splits.

    python benchmarks/digits_baselines.py > baselines.json
    python benchmarks/digits_baselines.py --corpus fashion-mnist --only nearest > baselines.json

Logistic regression on the pixels, and the label of the nearest training picture. It needs openwork[tasks,vision].
"""

import argparse
import json

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from openwork.data.corpora.catalogue import load
from openwork.evaluation.label_scores import label_scores
from openwork.signals.pictures import read_picture
from openwork.signals.settings import PictureSettings

SIDES = {"digits": 8, "fashion-mnist": 28}  # pixels
MODELS = {"regression": LogisticRegression(max_iter=1000), "nearest": KNeighborsClassifier(1)}


def split(corpus: str, name: str) -> tuple[np.ndarray, list[str]]:
    """The pixels (picture, pixel) from 0 to 1, and the labels."""
    form = PictureSettings(height=SIDES[corpus], width=SIDES[corpus], channels=1, patch=1)
    pairs = list(load(corpus, name))
    pixels = np.stack([read_picture(pair.source, form).flatten() for pair in pairs])
    return (pixels / 255).astype(np.float32), [pair.target for pair in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", choices=SIDES, default="digits")
    parser.add_argument("--only", choices=MODELS)
    asked = parser.parse_args()
    (pixels, labels), (tested, references) = split(asked.corpus, "train"), split(asked.corpus, "test")
    found = {}
    for name in MODELS if asked.only is None else [asked.only]:
        model = MODELS[name]
        accuracy, *_ = label_scores("classify", references, model.fit(pixels, labels).predict(tested).tolist(), 1000)
        found[name] = {"value": accuracy.value, "low": accuracy.low, "high": accuracy.high}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
