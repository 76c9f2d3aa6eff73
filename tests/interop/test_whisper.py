"""Folders of Hugging Face's Whisper: written and read again, what is refused. `tests/parity` holds the numbers."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from openwork.base.errors import BundleError, ConfigError
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import TranscriptSettings
from openwork.interop.exports import unsupported_exports
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.signals.mel import SoundFrames
from openwork.signals.settings import SoundSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS

WAVES = "model.encoder.embed_positions.weight"


def bundle(sound: dict[str, Any] | None = None, **changes: Any) -> Bundle:
    settings = SoundSettings(**{"mels": 10, "seconds": 1, **(sound or {})})
    target = KINDS["byte-pair"].learn(["a few words to learn pieces of"] * 3, 300, minimum_frequency=2)
    values = {**PRESETS["whisper-small"], "width": 8, "heads": 2, "feedforward_width": 10, "encoder_layers": 1}
    model = model_settings({**values, "maximum_length": 30, **changes})
    pair = TokenizerPair(SoundFrames(settings), target)
    torch.manual_seed(2)
    return Bundle(BundleSettings(model=model, sound=settings), pair, build_model(model, *pair.sizes).eval())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_hugging_face_folder(tmp_path / "whisper", bundle())
    return tmp_path / "whisper"


def test_what_is_written_is_read(folder: Path) -> None:
    again, before = bundle_from_hugging_face(folder), bundle()
    assert again.settings.sound == before.settings.sound
    assert again.tokenizers.fingerprint == before.tokenizers.fingerprint
    for name, weight in again.model.named_parameters():
        expected = before.model.get_parameter(name)
        assert torch.equal(weight, torch.zeros_like(weight) if name.endswith("key.bias") else expected), name


def changed(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"max_source_positions": 40}, "B077"),
        ({"decoder_ffn_dim": 12}, "B020"),
        ({"num_mel_bins": 12}, "B017"),
        ({"num_mel_bins": 1000}, "B027"),
        ({"activation_function": "tanh"}, "B021"),
        ({"vocab_size": 9}, "B018"),
    ],
)
def test_what_openwork_has_not_is_refused(changes: dict[str, Any], code: str, folder: Path) -> None:
    changed(folder / "config.json", **changes)
    with pytest.raises(BundleError) as refused:
        bundle_from_hugging_face(folder)
    assert refused.value.code == code and refused.value.hint


def test_other_waves_and_other_rates_are_refused(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, WAVES: weights[WAVES] + 0.1}, folder / "model.safetensors")
    with pytest.raises(BundleError, match="another way"):
        bundle_from_hugging_face(folder)
    save_file(weights, folder / "model.safetensors")
    changed(folder / "preprocessor_config.json", sampling_rate=8000)
    with pytest.raises(BundleError, match="another way"):
        bundle_from_hugging_face(folder)


@pytest.mark.parametrize(
    "changes",
    [{"norm": "post"}, {"positions": "rotary", "maximum_length": None}, {"output_bias": True}, {"norm_epsilon": 1e-3},
     {"sound": {"rate": 8000}}, {"sound": {"padded": False}}],
)  # fmt: skip
def test_what_their_model_is_not_is_not_written(changes: dict[str, Any], tmp_path: Path) -> None:
    one = bundle(**changes)
    with pytest.raises(ConfigError) as refused:
        write_hugging_face_folder(tmp_path / "written", one)
    assert refused.value.code == "C031" and not (tmp_path / "written").exists()
    pair = one.tokenizers
    assert {"Hugging Face", "CTranslate2"} <= unsupported_exports(
        one.settings.model, (pair.encoder, pair.target)
    ).keys()


TRANSCRIPT = TranscriptSettings(
    languages={"en": 10, "de": 11, "haw and more": 16}, language="de",
    tasks={"transcribe": 12, "translate": 13}, task="translate", no_timestamps=14,
    timestamps=15, latest_start=3, suppressed=(8, 9), suppressed_first=(3, 7),
)  # fmt: skip


@pytest.mark.parametrize("transcript", [TRANSCRIPT, TranscriptSettings(opening=(10, 12), suppressed=(9,)), None])
def test_symbols_are_written_and_read(transcript: TranscriptSettings | None, tmp_path: Path) -> None:
    before = bundle()
    settings = before.settings.model_copy(update={"transcript": transcript})
    write_hugging_face_folder(tmp_path / "whisper", replace(before, settings=settings))
    again = bundle_from_hugging_face(tmp_path / "whisper")
    write_bundle(tmp_path / "bundle", again)
    assert load_bundle(tmp_path / "bundle").settings.transcript == again.settings.transcript == transcript


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"language": "<|xx|>"}, "B079"),
        ({"language": "de"}, "B079"),
        ({"lang_to_id": {"<|en|>": 5000}}, "B078"),
        ({"no_timestamps_token_id": 900}, "B078"),
        ({"task_to_id": {"translate": -1}}, "B027"),
        ({"suppress_tokens": "all"}, "B027"),
    ],
)
def test_symbols_that_no_piece_has_are_refused(changes: dict[str, Any], code: str, folder: Path) -> None:
    changed(folder / "generation_config.json", **changes)
    with pytest.raises(BundleError) as refused:
        bundle_from_hugging_face(folder)
    assert refused.value.code == code and refused.value.hint


def test_suppressed_tokens_without_a_piece_are_left_out(folder: Path) -> None:
    changed(folder / "generation_config.json", suppress_tokens=[-1, 0, 9, 70_000])
    found = bundle_from_hugging_face(folder).settings.transcript
    assert found is not None and found.suppressed == (9,)
