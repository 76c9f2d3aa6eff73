"""Hugging Face's ViT beside ours, read and written: hidden states, logits, prepared pictures, other sizes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

pytest.importorskip("transformers", reason="the extra parity is not installed: make parity")
pytest.importorskip("PIL", reason="needs the extra vision")
from transformers import AutoModelForImageClassification, ViTConfig, ViTForImageClassification

from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.batches import batches_of
from openwork.inference.labeller import Labeller
from openwork.interop.forms import bundle_from_hugging_face, write_hugging_face_folder
from openwork.models.build import build_model
from openwork.models.encoder_lm import EncoderModel
from openwork.models.families import model_settings
from openwork.models.presets import PRESETS
from openwork.nn.features import positions_of_grid
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels

pytestmark = pytest.mark.slow  # what is held against needs seconds to load

TOLERANCE = 1e-4
SIZES: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24, "image_size": 12,
    "patch_size": 4, "id2label": {0: "great cat", 1: "dog", 2: "crane", 3: "crane", 4: "owl"},
}  # fmt: skip
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "grey, without biases of queries, keys and values": {"num_channels": 1, "qkv_bias": False},
    "wide, of another activation": {"image_size": (8, 20), "hidden_act": "gelu_new", "layer_norm_eps": 1e-5},
    "one patch, one layer": {"patch_size": 12, "num_hidden_layers": 1, "num_attention_heads": 1},
}
PIXELS = np.random.default_rng(2).integers(0, 256, (3, 40, 30, 3), np.uint8)


def close(one: Tensor, other: Tensor) -> None:
    assert float(one.std()) > 0.01  # there is something to compare
    torch.testing.assert_close(one, other, rtol=0, atol=TOLERANCE)


def make(folder: Path, **changes: Any) -> tuple[Any, Bundle]:
    torch.manual_seed(5)
    model = ViTForImageClassification(ViTConfig(**SIZES | changes)).eval()
    for name, tensor in model.named_parameters():
        tensor.data = torch.randn(tensor.shape) * 0.3 + (1.0 if "layernorm" in name and "weight" in name else 0.0)
    model.save_pretrained(folder)
    return model, bundle_from_hugging_face(folder)


def prepared(bundle: Bundle, pictures: list[Any]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The same pictures as pixels (batch, channel, row, column), and as the patches that our model reads."""
    encoder, picture = bundle.tokenizers.encoder, bundle.settings.picture
    assert picture is not None
    source, lengths = batches_of(encoder).padded(encoder.encode_batch(pictures), torch.device("cpu"))
    (rows, columns), size = picture.grid, picture.patch
    squares = source.unflatten(2, (picture.channels, size, size)).unflatten(1, (rows, columns))
    return squares.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3), (source, lengths)


def compare(model: Any, bundle: Bundle) -> None:
    pixels, ours = prepared(bundle, list(PIXELS))
    assert isinstance(bundle.model, EncoderModel)
    with torch.no_grad():
        expected = model(pixels, output_hidden_states=True)
        hidden = bundle.model.encode(*ours)
        logits = bundle.model.step(torch.full((3, 1), 2), bundle.model.start(*ours))[0][:, 0, 4:]
        last = model.vit(pixels).last_hidden_state
    close(hidden, last)
    close(logits, expected.logits)
    places = Labeller(bundle.model, bundle.tokenizers, "classify").label(list(PIXELS), best=5)
    shares = expected.logits.softmax(dim=-1).topk(5)
    for row, place in enumerate(places):
        assert [choice.number - 4 for choice in place.places[0]] == shares.indices[row].tolist()
        found = torch.tensor([choice.probability for choice in place.places[0]])
        torch.testing.assert_close(found, shares.values[row], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_read(name: str, tmp_path: Path) -> None:
    model, bundle = make(tmp_path, **CONFIGURATIONS[name])
    compare(model, bundle)
    names = bundle.tokenizers.target
    assert isinstance(names, Labels) and names.names == ["great_cat", "dog", "crane_2", "crane_3", "owl"]


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_written(name: str, tmp_path: Path) -> None:
    """Read, kept as a bundle, written, and read by their library."""
    _, bundle = make(tmp_path / "theirs", **CONFIGURATIONS[name])
    write_bundle(tmp_path / "bundle", bundle)
    write_hugging_face_folder(tmp_path / "written", load_bundle(tmp_path / "bundle"))
    compare(AutoModelForImageClassification.from_pretrained(tmp_path / "written").eval(), bundle)


def ours(**changes: Any) -> Bundle:
    picture = PictureSettings(height=8, width=12, channels=3, patch=4, mean=(0.5, 0.4, 0.3), deviation=(0.2, 0.3, 0.4))
    encoder, labels = PicturePatches(picture), Labels.of(["a", "b", "c"])
    values = {**PRESETS["vit-small"], "width": 16, "heads": 2, "feedforward_width": 20, "layers": 2}
    settings = model_settings({**values, "maximum_length": picture.patches + 1, **changes})
    torch.manual_seed(2)
    pair = TokenizerPair(encoder, labels)
    return Bundle(BundleSettings(model=settings, picture=picture), pair, build_model(settings, *pair.sizes).eval())


@pytest.mark.parametrize("changes", [{}, {"attention_bias": False, "feedforward": "relu"}])
def test_of_ours_written_and_read_again(changes: dict[str, Any], tmp_path: Path) -> None:
    bundle = ours(**changes)
    write_hugging_face_folder(tmp_path / "written", bundle)
    model = AutoModelForImageClassification.from_pretrained(tmp_path / "written").eval()
    again = bundle_from_hugging_face(tmp_path / "written")
    assert again.settings.picture == bundle.settings.picture
    pixels, source = prepared(bundle, list(PIXELS))
    with torch.no_grad():
        expected = model(pixels).logits
        for one in (bundle, again):
            close(one.model.step(torch.full((3, 1), 2), one.model.start(*source))[0][:, 0, 4:], expected)


def test_their_processor_prepares_pictures_as_ours(tmp_path: Path) -> None:
    """Resized by the same filter, so that a pixel differs by rounding alone."""
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    bundle = ours()
    write_hugging_face_folder(tmp_path / "written", bundle)
    processor = ViTImageProcessorPil.from_pretrained(tmp_path / "written")
    theirs = processor(list(PIXELS), return_tensors="pt")["pixel_values"]
    found, _ = prepared(bundle, list(PIXELS))
    torch.testing.assert_close(found, theirs, rtol=0, atol=1e-4)


def test_positions_of_a_larger_picture(tmp_path: Path) -> None:
    """Theirs for a picture of another size are ours of another grid."""
    model, bundle = make(tmp_path)
    table = dict(bundle.model.named_parameters())["source_positions.table.weight"]
    with torch.no_grad():
        theirs = model.vit.embeddings.interpolate_pos_encoding(torch.zeros(1, 1 + 5 * 4, 16), 20, 16)[0]
    close(positions_of_grid(table.detach(), (3, 3), (5, 4)), theirs)
