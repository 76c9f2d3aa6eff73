"""Hugging Face's ViT with a classifier, read as a bundle and written; it is openwork's `vit` with pre-norm and biases.

preprocessor_config.json says how pictures are prepared, and becomes the section [picture].
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.files import atomic_write_text
from openwork.base.printing import json_text
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.interop.exports import HF_ACTIVATIONS, hf_activation, unsupported_vit
from openwork.interop.hugging_face import folder as hf
from openwork.interop.hugging_face.folder import (
    WeightPlace,
    check_supported,
    external_weights,
    own_weights,
    read_weights,
    size_error,
    with_bias,
    write_files,
)
from openwork.interop.vocabulary import Vocabulary
from openwork.models.build import model_with_weights
from openwork.models.settings import VisionSettings
from openwork.signals.patches import PicturePatches
from openwork.signals.settings import PictureSettings
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.words import Labels

PREPROCESSOR = "preprocessor_config.json"
CLASS = "ViTForImageClassification"
BILINEAR = 2  # Pillow's number of the only way in which pictures are resized here
CLASS_TOKEN, POSITIONS = "vit.embeddings.cls_token", "vit.embeddings.position_embeddings"
PROJECTION = "vit.embeddings.patch_embeddings.projection"
LAYER = {
    "self_attention.query": "attention.attention.query",
    "self_attention.key": "attention.attention.key",
    "self_attention.value": "attention.attention.value",
    "self_attention.output": "attention.output.dense",
    "attention_wiring.norm": "layernorm_before",
    "feedforward.expand": "intermediate.dense",
    "feedforward.contract": "output.dense",
    "feedforward_wiring.norm": "layernorm_after",
}


def vit_places(settings: VisionSettings) -> Iterator[WeightPlace]:
    """Every weight of a model with these settings, as matrices and vectors."""
    yield WeightPlace("source_embedding.start", (CLASS_TOKEN,))
    yield WeightPlace("source_positions.table.weight", (POSITIONS,))
    yield from with_bias("source_embedding.projection", PROJECTION)
    for number in range(settings.layers):
        for openwork_name, hf_name in LAYER.items():
            yield from with_bias(f"encoder.layers.{number}.{openwork_name}", f"vit.encoder.layer.{number}.{hf_name}")
    yield from with_bias("encoder.final_norm", "vit.layernorm")
    yield WeightPlace("output", ("classifier.weight",), pieces="target")
    yield WeightPlace("bias", ("classifier.bias",), pieces="target")


Size = int | tuple[int, int]


class ViTConfig(hf.ConfigKeys):
    """The keys that matter, with Hugging Face's defaults."""

    width: hf.Count = Field(768, alias="hidden_size")
    layers: hf.Layers = Field(12, alias="num_hidden_layers")
    heads: hf.Count = Field(12, alias="num_attention_heads")
    feedforward_width: hf.Count = Field(3072, alias="intermediate_size")
    activation: str = Field("gelu", alias="hidden_act")
    dropout: hf.Probability = Field(0.0, alias="hidden_dropout_prob")
    attention_dropout: hf.Probability = Field(0.0, alias="attention_probs_dropout_prob")
    norm_epsilon: hf.Epsilon = Field(1e-12, alias="layer_norm_eps")
    image_size: Size = 224
    patch_size: Size = 16
    num_channels: Literal[1, 3] = 3
    qkv_bias: bool = True
    id2label: dict[int, str] = Field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """The labels in the order of their numbers, each one word; a name that comes twice gets its number."""
        names = ["_".join(self.id2label[number].split()) for number in sorted(self.id2label)]
        return [f"{name}_{number}" if names.count(name) > 1 else name for number, name in enumerate(names)]


class Preprocessor(hf.ConfigKeys):
    """How pictures are prepared, with Hugging Face's defaults."""

    image_mean: tuple[float, ...] = (0.5,)
    image_std: tuple[float, ...] = (0.5,)
    do_normalize: bool = True
    do_rescale: bool = True
    resample: int = BILINEAR
    do_center_crop: bool | None = False


def bundle_from_vit(folder: Path, content: Mapping[str, object]) -> Bundle:
    """The folder's model as a bundle in memory; `content` is that of its config.json.

    BundleError for what is missing, damaged, pickled, or of a kind that openwork has not.
    """
    path = folder / hf.CONFIG
    config = hf.validated(ViTConfig, dict(content), path)
    weights = read_weights(folder)
    labels = Labels.of(config.labels)
    is_whole = sorted(config.id2label) == list(range(len(config.id2label))) and len(labels.names) > 1
    if "classifier.weight" not in weights or not is_whole:
        raise BundleError(
            f"{folder}: a Vision Transformer without labels of pictures",
            why="openwork reads those that classify: with classifier.weight, and id2label in config.json",
            hint=f"name a folder of {CLASS}",
            code="B075",
        )
    picture, left_out = _picture(config, folder)
    settings = hf.validated(
        VisionSettings,
        config.settings_for(VisionSettings)
        | {
            "norm": "pre",
            "positions": "learned",
            "maximum_length": picture.patches + 1,
            "feedforward": hf.known_activation(config.activation, HF_ACTIVATIONS, path),
            "embedding_scale": False,
            "attention_bias": True,
        },
        path,
    )
    encoder, target = PicturePatches(picture), Vocabulary.of_labels(len(labels.names))
    places = list(vit_places(settings))
    found = own_weights(places, _flat(_with_biases(weights, settings, config)), {"target": target}, folder)
    sizes = encoder.size, target.size
    model = model_with_weights(settings, sizes, found, partial(size_error, folder), str(folder))
    unused = sorted(weights.keys() - {name for place in places for name in place.hf_names}) + left_out
    card = hf.card_of(folder) + (f"\nNot taken over: {', '.join(unused)}\n" if unused else "")
    return Bundle(BundleSettings(model=settings, picture=picture), TokenizerPair(encoder, labels), model, card=card)


def _picture(config: ViTConfig, folder: Path) -> tuple[PictureSettings, list[str]]:
    """How pictures are prepared, and what of it openwork does in another way."""
    path = folder / PREPROCESSOR
    given = {key: value for key, value in _preprocessor(path).items() if value is not None}
    known = hf.validated(Preprocessor, given, path)
    (height, width), (patch, other) = (_both(size) for size in (config.image_size, config.patch_size))
    if patch != other:
        raise BundleError(
            f"{folder}: its patches are no squares",
            why=f"patch_size is {patch} x {other}",
            hint="openwork cuts pictures into squares; name another model",
            code="B076",
        )
    scale = 1.0 if known.do_rescale else 1 / 255
    values = {
        "height": height, "width": width, "channels": config.num_channels, "patch": patch,
        "mean": tuple(scale * one for one in known.image_mean) if known.do_normalize else (0.0,),
        "deviation": tuple(scale * one for one in known.image_std) if known.do_normalize else (scale,),
    }  # fmt: skip
    others = {"resample": known.resample != BILINEAR, "do_center_crop": known.do_center_crop}
    return hf.validated(PictureSettings, values, folder / hf.CONFIG), [key for key, other in others.items() if other]


def _preprocessor(path: Path) -> dict[str, Any]:
    return hf.read_json_object(path) if path.is_file() else {}


def _both(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _with_biases(weights: Mapping[str, Tensor], settings: VisionSettings, config: ViTConfig) -> dict[str, Tensor]:
    """The weights, with zeros for the biases of queries, keys and values where they have none."""
    missing = (
        {}
        if config.qkv_bias
        else {
            f"vit.encoder.layer.{number}.attention.attention.{part}.bias": torch.zeros(settings.width)
            for number in range(settings.layers)
            for part in ("query", "key", "value")
        }
    )
    return {**weights, **missing}


def _flat(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same with the class token as a vector, positions as a table, and the convolution as the matrix that it is."""
    found = dict(weights)
    for name in (CLASS_TOKEN, POSITIONS):
        if name in found and found[name].ndim == 3:
            found[name] = found[name].flatten(0, 1)
    if CLASS_TOKEN in found:
        found[CLASS_TOKEN] = found[CLASS_TOKEN].flatten()
    if (kernel := found.get(f"{PROJECTION}.weight")) is not None and kernel.ndim == 4:
        found[f"{PROJECTION}.weight"] = kernel.flatten(1)
    return found


def write_vit(folder: Path, bundle: Bundle) -> None:
    """The bundle's files in the folder; ConfigError for a model that Hugging Face has not."""
    settings, labels, picture = bundle.settings.model, bundle.tokenizers.target, bundle.settings.picture
    assert isinstance(settings, VisionSettings) and isinstance(labels, Labels) and picture is not None
    check_supported(unsupported_vit(settings))
    pieces = {"target": Vocabulary.of_labels(len(labels.names))}
    found = external_weights(vit_places(settings), dict(bundle.model.named_parameters()), pieces=pieces)
    found[CLASS_TOKEN] = found[CLASS_TOKEN].reshape(1, 1, -1)
    found[POSITIONS] = found[POSITIONS][None]
    kernel = found[f"{PROJECTION}.weight"]
    found[f"{PROJECTION}.weight"] = kernel.unflatten(1, (picture.channels, picture.patch, picture.patch))
    write_files(folder, _config(settings, labels, picture), {}, found)
    atomic_write_text(folder / PREPROCESSOR, json_text(_preparation(picture), indent=2) + "\n")


def _config(s: VisionSettings, labels: Labels, picture: PictureSettings) -> dict[str, Any]:
    is_square = picture.height == picture.width
    return {
        "architectures": [CLASS],
        "model_type": "vit",
        **ViTConfig.keys_of(s),
        "hidden_act": hf_activation(s.feedforward, HF_ACTIVATIONS),
        "image_size": picture.height if is_square else [picture.height, picture.width],
        "patch_size": picture.patch,
        "num_channels": picture.channels,
        "qkv_bias": True,
        "id2label": dict(enumerate(labels.names)),
        "label2id": {name: number for number, name in enumerate(labels.names)},
        "problem_type": "single_label_classification",
    }


def _preparation(picture: PictureSettings) -> dict[str, Any]:
    mean, deviation = (list(one) * (picture.channels // len(one)) for one in (picture.mean, picture.deviation))
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": picture.height, "width": picture.width},
        "resample": BILINEAR,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": mean,
        "image_std": deviation,
    }
