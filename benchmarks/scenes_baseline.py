"""The sentence of the nearest training picture, beside `recipes/scenes.toml`, on the pictures to test with.

    python benchmarks/scenes_baseline.py > baseline.json

It needs openwork[vision,tasks].
"""

import json

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from openwork.data.corpora.catalogue import load
from openwork.evaluation.evaluate import evaluate
from openwork.signals.pictures import read_picture
from openwork.signals.settings import PictureSettings

PIXELS = PictureSettings(height=32, width=32, channels=3, patch=4)


def split(corpus: str, name: str) -> tuple[np.ndarray, list[str]]:
    """The pixels (picture, 3072) from 0 to 1, and the sentences."""
    pairs = list(load(corpus, name))
    pixels = [read_picture(pair.source, PIXELS).flatten() / 255 for pair in pairs]
    return np.stack(pixels).astype(np.float32), [pair.target for pair in pairs]


def main() -> None:
    pixels, sentences = split("scenes", "train")
    nearest = KNeighborsClassifier(1, algorithm="brute").fit(pixels, sentences)
    found = {}
    for corpus in ("scenes", "scenes-new-pairs"):
        tested, references = split(corpus, "test")
        found[corpus] = evaluate(nearest.predict(tested).tolist(), references, "en").to_json()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
