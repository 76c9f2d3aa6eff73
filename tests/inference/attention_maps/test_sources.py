"""The attention of texts to pictures and sounds: its weights, its columns, its text and its page; what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from calling import Call
from inference.attention_maps.bundles import RATE, bundle_of, captioner, whisper
from journeys.command import told
from openwork.api.captioning import Captioner, Transcriber
from openwork.base.errors import DataError, OpenworkError, UsageError
from openwork.base.phrases import shown_width
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.decoding.settings import TranscriptSettings
from openwork.inference.attention_maps import sources
from openwork.inference.attention_maps.asking import AttentionQuestion, ask_attention
from openwork.inference.attention_maps.chosen import ChosenMap
from openwork.inference.attention_maps.files import page
from openwork.inference.attention_maps.maps import unpacked
from openwork.inference.attention_maps.removal import HeadName
from openwork.inference.attention_maps.sources import capture_source
from openwork.inference.attention_maps.text import attention_text
from openwork.inference.attention_maps.views import PictureView, SoundView
from openwork.inference.transcriber import SoundTranscriber
from openwork.inference.translator import BatchTranslator

Image = pytest.importorskip("PIL.Image", reason="needs the extra vision")
soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
pytest.importorskip("soxr", reason="needs the extra audio")

pytestmark = pytest.mark.slow


@pytest.fixture
def sound(tmp_path: Path) -> str:
    """0.41 seconds: 41 rows and a part of one, which are 21 positions."""
    path = tmp_path / "one.wav"
    soundfile.write(path, np.random.default_rng(1).uniform(-0.5, 0.5, 3290).astype(np.float32), RATE)
    return str(path)


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "one.png"
    Image.fromarray(np.random.default_rng(2).integers(0, 256, (8, 12), np.uint8)).save(path)
    return str(path)


def attended(bundle: Bundle, source: Any, output: list[int]) -> list[np.ndarray]:
    """The weights of the last layer's cross-attention (query, key), the mean of its heads, as searches get them."""
    model, tokenizers = bundle.model, bundle.tokenizers
    ((numbers, _),) = tokenizers.encode_sources([source])
    state = model.start(*BatchTranslator.of(bundle).sources.padded([numbers], torch.device("cpu")))
    given = torch.tensor([[tokenizers.target.start_id, *output[:-1]]])
    with torch.inference_mode():
        return model.attend(given, state)[1][0].numpy()  # type: ignore[operator]


def test_the_patches_that_a_caption_attends_to(picture: str) -> None:
    bundle = captioner()
    found = capture_source(bundle, picture)
    ((own, *_),) = BatchTranslator.of(bundle).translate([picture])
    assert (found.source, found.translation) == (picture, own.text)
    assert found.log_probability == pytest.approx(own.log_probability, abs=1e-4)
    assert [piece.text for piece in found.source_pieces] == ["0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]
    cross = found.of_kind("cross")[-1].weights
    np.testing.assert_allclose(cross.mean(0), attended(bundle, picture, list(found.output_ids)), atol=1e-5)
    assert isinstance(found.view, PictureView) and (found.view.rows, found.view.columns) == (2, 3)
    assert np.array_equal(found.view.pixels[..., 0], np.asarray(Image.open(picture)))
    assert {one.kind for one in found.maps} == {"encoder", "decoder", "cross"}


@pytest.mark.parametrize("padded", [False, True])
def test_the_times_that_a_transcript_attends_to(sound: str, padded: bool) -> None:
    """What follows the end of a sound in a window of one second is one column more."""
    bundle = whisper(padded=padded)
    found = capture_source(bundle, sound)
    ((own, *_),) = SoundTranscriber(bundle, bundle.settings.decoding).transcribe([sound])
    assert found.translation.strip() == own.text and found.output_ids[: len(own.pieces)] == own.pieces
    assert found.log_probability == pytest.approx(own.log_probability, abs=1e-4)
    names = [piece.text.replace("\u202f", " ") for piece in found.source_pieces]
    assert names[:3] == ["0.00 s", "0.02 s", "0.04 s"]
    assert len(names) == 21 + padded and (not padded or names[-1] == "0.42–1.00 s")
    assert [piece.is_special for piece in found.source_pieces] == [False] * 21 + [True] * padded
    theirs = attended(bundle, sound, list(found.output_ids))
    ours = found.of_kind("cross")[-1].weights.mean(0)
    np.testing.assert_allclose(ours[:, :21], theirs[:, :21], atol=1e-5)
    for one in found.maps:
        np.testing.assert_allclose(one.weights.sum(-1), 1.0, atol=1e-4)
        assert one.kind == "decoder" or one.weights.shape[-1] == len(names)
    if padded:
        np.testing.assert_allclose(ours[:, 21], theirs[:, 21:].sum(1), atol=1e-5)
    assert isinstance(found.view, SoundView) and found.view.spectrogram.shape == (12, 42 if padded else 41)
    assert (found.view.spectrogram.min(), found.view.spectrogram.max()) == (0.0, 1.0)


def test_of_many_positions_the_maps_of_the_encoder_are_left_out(sound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_WEIGHTS", 2 * 2 * 50 * 40)
    found = capture_source(whisper(), sound)
    assert {one.kind for one in found.maps} == {"decoder", "cross"}
    monkeypatch.setattr(sources, "MOST_WEIGHTS", 2 * 2 * 50)
    with pytest.raises(OpenworkError) as refused:
        capture_source(whisper(), sound)
    assert refused.value.code == "E056"


def test_white_space_around_a_text_is_in_no_place() -> None:
    """As Whisper's texts begin with a space, which a transcript does not have."""
    tokenizers = whisper().tokenizers
    text, places = sources._text_and_places(tokenizers, tokenizers.encode_target(" a red ", ()))
    assert text == "a red" and [text[slice(*place)] for place in places if place] == ["", *"a red", ""]


def test_a_given_text_and_the_symbols_before_it(sound: str, picture: str) -> None:
    bundle = captioner()
    found = capture_source(bundle, picture, "blue box")
    assert found.translation == "blue box" and found.target_pieces[-1].is_special
    assert "".join(piece.predicted for piece in found.target_pieces[:-1]) == "blue box"
    assert capture_source(bundle, picture, found.translation).log_probability == found.log_probability
    symbols = TranscriptSettings(languages={"de": 5, "en": 6}, tasks={"transcribe": 7})
    told = whisper(transcript=symbols)
    own, given = capture_source(told, sound), capture_source(told, sound, "one two")
    assert own.output_ids[0] in (5, 6) and own.output_ids[1] == 7
    assert given.output_ids[:2] == own.output_ids[:2] and given.translation == "one two"
    assert [piece.is_special for piece in given.target_pieces] == [True, True, *[False] * 7, True]
    assert [piece.place for piece in given.target_pieces] == [None, None, *((n, n + 1) for n in range(7)), None]


def test_words_of_a_question_are_columns(sound: str, picture: str) -> None:
    for bundle, file, before in (
        (whisper(words=("what", "where")), sound, 22),
        (captioner(words=("what", "where")), picture, 6),
    ):
        found = capture_source(bundle, (file, "where what"))
        assert [piece.text for piece in found.source_pieces[before:]] == ["where", "what"]
        assert all(one.kind == "decoder" or one.weights.shape[-1] == before + 2 for one in found.maps)
        with pytest.raises(DataError) as refused:
            capture_source(bundle, (file, "who"))
        assert refused.value.code == "D165"


def test_arrays_are_sources_too(sound: str, picture: str) -> None:
    samples, pixels = soundfile.read(sound, dtype="float32")[0], np.asarray(Image.open(picture))
    for bundle, file, array, name in ((whisper(), sound, samples, "sound"), (captioner(), picture, pixels, "picture")):
        one, other = capture_source(bundle, file), capture_source(bundle, array)
        assert other.source == name and one.translation == other.translation
        assert all(np.array_equal(a.weights, b.weights) for a, b in zip(one.maps, other.maps, strict=True))
    report = Transcriber(whisper(), Path()).attention(samples)
    assert report.findings.through is None and "0.00 s" in str(report) and "iframe" in report._repr_html_()
    assert Captioner(captioner(), Path()).attention(pixels, "blue").translation == "blue"


def test_in_a_terminal_and_as_json(sound: str, picture: str) -> None:
    found = ask_attention(whisper(), sound, AttentionQuestion())
    for width in (60, 100):
        text = attention_text(found.sentence, ChosenMap.of(found.sentence, "cross"), width, str)
        strips = [line for line in text.splitlines() if "0." in line and " s  " in line and "→" in line]
        assert len(strips) == len(found.sentence.target_pieces)
        assert all(shown_width(line) <= width for line in text.splitlines())
        assert all("█" in line for line in strips)
    written = found.to_json()["sound"]
    np.testing.assert_allclose(unpacked(written["spectrogram"]), found.sentence.view.spectrogram, atol=1e-5)
    assert (written["positions"], written["seconds"]) == (21, 0.02)
    caption = ask_attention(captioner(), picture, AttentionQuestion())
    text = attention_text(caption.sentence, ChosenMap.of(caption.sentence, "cross"), 80, str)
    assert text.count("largest") == len(caption.sentence.target_pieces)
    assert caption.to_json()["picture"]["url"].startswith("data:image/png;base64,")
    assert "data:image/png" in page(caption, ("", ""), "en")


def test_what_is_refused(sound: str, picture: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        capture_source(bundle_of(), picture)
    assert refused.value.code == "U164"
    for question in (AttentionQuestion(why=True), AttentionQuestion(without=HeadName("cross", 0, 0))):
        with pytest.raises(UsageError) as refused:
            ask_attention(captioner(), picture, question)
        assert refused.value.code == "U165"
    long = tmp_path / "long.wav"
    soundfile.write(long, np.zeros(2 * RATE, np.float32), RATE)
    with pytest.raises(DataError):
        capture_source(whisper(), str(long))


def test_on_the_command_line(call: Call, sound: str, picture: str, tmp_path: Path) -> None:
    write_bundle(tmp_path / "whisper", whisper())
    write_bundle(tmp_path / "captioner", captioner(words=("what",)))
    write_bundle(tmp_path / "texts", bundle_of())
    files = ("--html", tmp_path / "page.html", "--csv", tmp_path / "map.csv")
    written = call("attention", tmp_path / "whisper", sound, *files)
    assert written.code == 0, written.err
    assert '"spectrogram"' in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "0.42–1.00" in (tmp_path / "map.csv").read_text(encoding="utf-8")
    found = call("attention", tmp_path / "captioner", picture, "--question", "what")
    assert found.code == 0 and b"largest" in found.out, found.err
    told(call("attention", tmp_path / "texts", "a b", "--question", "what"), 2, "U166")
    told(call("attention", tmp_path / "captioner", tmp_path / "none.png"), 3, "D144", "none.png")
