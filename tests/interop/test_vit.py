"""Hugging Face's ViT: what is refused, and what its processor says about pictures."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from openwork.base.errors import BundleError, ConfigError
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.interop.exports import unsupported_exports
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.models.build import build_model
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels

PICTURE = PictureSettings(height=4, width=8, channels=3, patch=4, mean=(0.1, 0.2, 0.3))


def bundle(**changes: Any) -> Bundle:
    sizes = {"width": 8, "heads": 2, "feedforward_width": 8, "layers": 1, "maximum_length": PICTURE.patches + 1}
    settings = model_settings({**PRESETS["vit-small"], **sizes, **changes})
    pair = TokenizerPair(PicturePatches(PICTURE), Labels.of(["cat", "dog", "owl"]))
    torch.manual_seed(1)
    return Bundle(BundleSettings(model=settings, picture=PICTURE), pair, build_model(settings, *pair.sizes).eval())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_hugging_face_folder(tmp_path / "written", bundle())
    return tmp_path / "written"


def changed(folder: Path, name: str, **changes: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def test_what_is_written_is_read_as_it_was(folder: Path) -> None:
    before, after = bundle(), bundle_from_hugging_face(folder)
    assert after.settings.picture == PICTURE.model_copy(update={"deviation": (0.5,) * 3})
    assert after.settings.model == before.settings.model and "Not taken over" not in after.card
    assert after.tokenizers.target.fingerprint == before.tokenizers.target.fingerprint
    expected = dict(before.model.named_parameters())
    for name, weight in after.model.named_parameters():
        if name in ("output", "bias"):  # rows of symbols, which no label of theirs has
            torch.testing.assert_close(weight[4:], expected[name][4:])
        else:
            assert torch.equal(weight, expected[name]), name


def test_its_processor_says_how_pictures_are_prepared(folder: Path) -> None:
    changed(folder, "preprocessor_config.json", resample=3, do_normalize=False)
    read = bundle_from_hugging_face(folder)
    assert read.settings.picture is not None and "resample" in read.card
    assert (read.settings.picture.mean, read.settings.picture.deviation) == ((0.0,), (1.0,))
    (folder / "preprocessor_config.json").unlink()
    usual = bundle_from_hugging_face(folder).settings.picture
    assert usual is not None and (usual.mean, usual.deviation) == ((0.5,), (0.5,))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"patch_size": [4, 2]}, "B076"),
        ({"id2label": {"0": "cat"}}, "B075"),
        ({"id2label": {"0": "cat", "2": "dog"}}, "B075"),
        ({"hidden_size": 12}, "B017"),
        ({"image_size": 8}, "B017"),
        ({"hidden_act": "tanh"}, "B021"),
        ({"num_channels": 2}, "B027"),
        ({"image_size": 6}, "B027"),
    ],
)
def test_what_openwork_has_not_is_refused(changes: dict[str, Any], code: str, folder: Path) -> None:
    with pytest.raises(BundleError) as refused:
        bundle_from_hugging_face(changed(folder, "config.json", **changes))
    assert refused.value.code == code and refused.value.hint


def test_a_model_without_a_classifier_is_refused(folder: Path) -> None:
    save_file({"vit.embeddings.cls_token": torch.zeros(1, 1, 8)}, folder / "model.safetensors")
    with pytest.raises(BundleError) as refused:
        bundle_from_hugging_face(folder)
    assert refused.value.code == "B075"


@pytest.mark.parametrize(
    "changes", [{"pooling": "mean"}, {"norm": "post"}, {"positions": "rotary", "maximum_length": None}]
)
def test_what_their_model_is_not_is_not_written(changes: dict[str, Any], tmp_path: Path) -> None:
    one = bundle(**changes)
    with pytest.raises(ConfigError) as refused:
        write_hugging_face_folder(tmp_path / "written", one)
    assert refused.value.code == "C031" and not (tmp_path / "written").exists()
    pair = one.tokenizers
    assert {"Hugging Face", "CTranslate2"} <= unsupported_exports(
        one.settings.model, (pair.encoder, pair.target)
    ).keys()
