"""Writes what every Hugging Face folder has: its configurations and its weights."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.interop.exports import Unsupported
from openwork.interop.hugging_face.config import CONFIG, GENERATION
from openwork.interop.hugging_face.layout import WeightPlace
from openwork.interop.hugging_face.weights import WEIGHTS

LONGEST = 1024  # positions in the configuration of a model that takes any length


def write_files(folder: Path, config: dict[str, Any], generation: dict[str, Any], weights: dict[str, Tensor]) -> None:
    """config.json, generation_config.json where there is something to generate, and model.safetensors."""
    for name, content in ((CONFIG, {**config, "torch_dtype": "float32"}), (GENERATION, generation)):
        if content:
            text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
            (folder / name).write_text(text, encoding="utf-8")
    (folder / WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))


def own_weights(places: Iterable[WeightPlace], own: Mapping[str, Tensor]) -> Iterator[tuple[WeightPlace, Tensor]]:
    """Each place with openwork's weight in float32; zeros for a bias that the model has not."""
    for place in places:
        name = place.openwork_name
        matrix = "output" if name == "bias" else name.removesuffix("bias") + "weight"
        yield place, own[name].detach().cpu().float() if name in own else torch.zeros(own[matrix].shape[0])


def check_supported(unsupported: Unsupported | None) -> None:
    """ConfigError, with the reason, if Hugging Face cannot run a model."""
    if unsupported is not None:
        raise ConfigError(
            "this model has no counterpart among the architectures of Hugging Face that are written",
            why=unsupported.why,
            hint=unsupported.hint,
            code="C031",
        )
