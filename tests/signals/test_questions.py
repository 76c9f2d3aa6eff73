"""Questions beside pictures and sounds: rows by hand, what is refused, and a film's or a recording's own rows."""

from random import Random

import numpy as np
import pytest

from openwork.base.errors import DataError
from openwork.base.sources import NumberForm
from openwork.signals.mel import SoundFrames, log_mel
from openwork.signals.patches import PicturePatches
from openwork.signals.questions import file_of, form_with, parted, with_question
from openwork.signals.settings import PictureSettings, SoundSettings

WORDS = ("what", "where", "how")


def test_a_question_is_parted_from_its_path() -> None:
    assert parted("a b.png\twhere what", WORDS) == ("a b.png", [1, 0])
    assert parted(("a.png", "how"), WORDS) == ("a.png", [2])
    assert parted("a.png", WORDS) == ("a.png", []) == parted("a.png", None)
    assert file_of("a.png\thow") == file_of("a.png") == "a.png"
    with pytest.raises(DataError, match="does not know: why") as refused:
        parted("a.png\twhat why", WORDS)
    assert refused.value.code == "D165"
    for source in ("a.png\thow", ("a.png", "how")):
        with pytest.raises(DataError, match="not trained to answer") as refused:
            parted(source, None)
        assert refused.value.code == "D166"


def test_rows_by_hand() -> None:
    rows = np.array([[7, 8], [9, 10], [11, 12]], np.uint8)
    found = with_question(rows, [2, 0], WORDS)
    assert found.tolist() == [[7, 8, 0, 0, 0], [9, 10, 0, 0, 0], [11, 12, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]
    twice = with_question(rows, [2], WORDS, 2)  # an empty row comes between, so that the word has two of a pair
    assert twice[3].tolist() == [0] * 5 and twice[4:].tolist() == [[0, 0, 0, 0, 1]] * 2
    assert with_question(rows, [], None) is rows


def test_a_word_is_read_as_one() -> None:
    """The numbers of both channels keep their scale and shift."""
    form = form_with(NumberForm(4, "|u1", (0.5, 2.0), (-1.0, 0.0)), WORDS)
    read = form.read(np.array([[2, 4, 6, 8, 0, 1, 0]], np.uint8))
    assert read.tolist() == [[0.0, 1.0, 12.0, 16.0, 0.0, 1.0, 0.0]]


def test_the_rows_of_a_picture_stay() -> None:
    pytest.importorskip("PIL", reason="needs the extra vision")
    pixels = np.random.default_rng(1).integers(0, 256, (8, 4, 3), np.uint8)
    plain = PictureSettings(height=8, width=4, channels=3, patch=4)
    asking = plain.model_copy(update={"words": WORDS})
    (without,), (found,) = (
        PicturePatches(plain).encode_batch([pixels]),
        PicturePatches(asking).encode_batch([(pixels, "how")]),
    )
    np.testing.assert_array_equal(found[:2, :48], without)
    assert found.shape == (3, 51) and found[2].tolist() == [0] * 50 + [1]
    assert PicturePatches(asking).size == 51 and PicturePatches(plain).fingerprint != PicturePatches(asking).fingerprint


def test_the_rows_of_a_sound_stay() -> None:
    pytest.importorskip("soundfile", reason="needs the extra audio")
    random = Random(1)
    samples = np.array([random.uniform(-1, 1) for _ in range(840)], np.float32)
    plain = SoundSettings(rate=8000, mels=4, seconds=1, padded=False)
    asking = plain.model_copy(update={"words": WORDS})
    (found,) = SoundFrames(asking).encode_batch([(samples, "where")])
    rows = log_mel(samples, plain)
    np.testing.assert_array_equal(found[: len(rows), :4], rows)
    assert len(found) % 2 == 0 and found[-2:].tolist() == [[0, 0, 0, 0, 0, 1, 0]] * 2
