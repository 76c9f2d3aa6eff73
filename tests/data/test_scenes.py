"""Scenes: which are in which split, and that their sentences say what the pictures show."""

from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from openwork.data.corpora import catalogue as corpora
from openwork.data.corpora.drawings import COLOURS, FORMS, HELD_OUT, covered
from openwork.data.corpora.scenes import PAIRS, RADII, SIZES, Scene, Shape, picture, scenes


def test_what_is_held_out_is_tested_alone() -> None:
    found = {split: [scene for scene, _ in islice(scenes(split), 300)] for split in SIZES}
    pairs = {split: [{(o.colour, o.form) for o in scene.shapes} for scene in found[split]] for split in found}
    assert all(one & HELD_OUT for one in pairs[PAIRS])
    assert not any(one & HELD_OUT for split in ("train", "valid", "test") for one in pairs[split])
    sentences = [{scene.words for scene in found[split]} for split in SIZES]
    assert sum(map(len, sentences)) == len(set.union(*sentences))
    seen = {pair for one in pairs["train"] for pair in one}
    assert {colour for colour, _ in seen} == set(COLOURS) and {form for _, form in seen} == set(FORMS)


def test_each_form_by_hand() -> None:
    """Pixels of a radius of 4. A bar has 3 rows of 9, a cross two bars that share 9; a ring is a circle without one."""
    sizes = {form: int(covered(form, 4, (16, 16), 32).sum()) for form in FORMS}
    assert sizes == {
        "circle": 49, "square": 49, "triangle": 1 + 1 + 3 + 3 + 5 + 5 + 7 + 7 + 9, "cross": 27 + 27 - 9, "bar": 27,
        "ring": 49 - 13,
    }  # fmt: skip


@pytest.mark.parametrize(("relation", "axis"), [("left of", 1), ("above", 0)])
def test_the_first_shape_is_where_the_sentence_says(relation: str, axis: int) -> None:
    scene = Scene((Shape("small", "red", "cross"), Shape("large", "blue", "square")), relation)
    assert scene.words == f"a small red cross {relation} a large blue square"
    for number in range(20):
        pixels = picture(scene, Random(number)).astype(int)
        red, blue = (np.argwhere(pixels[:, :, one] - pixels[:, :, other] > 100) for one, other in ((0, 2), (2, 0)))
        assert len(red) == 45 and len(blue) == (2 * round(RADII["large"] * 0.85) + 1) ** 2
        assert red[:, axis].max() < blue[:, axis].min()


@pytest.mark.slow
def test_pictures_are_written_once_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL", reason="needs the extra vision")
    from openwork.signals.pictures import read_picture
    from openwork.signals.settings import PictureSettings

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("OPENWORK_DATA", raising=False)
    corpora.fetch("scenes")
    splits = [list(corpora.load("scenes", split)) for split in ("train", "valid", "test")]
    assert tuple(map(len, splits)) == corpora.find("scenes").pairs
    first, _ = next(scenes(PAIRS))
    assert next(corpora.load("scenes-new-pairs", "test")).target == first.words
    assert list(corpora.load("scenes-new-pairs", "valid")) == splits[1]
    first, pixels = next(scenes("test"))
    assert splits[2][0].target == first.words
    read = read_picture(splits[2][0].source, PictureSettings(height=32, width=32, channels=3, patch=4))
    np.testing.assert_array_equal(read, pixels)
