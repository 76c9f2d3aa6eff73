"""What every folder in Hugging Face's form has: its configurations and its weights."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.interop.closed import Closed
from openwork.interop.hugging_face.config import CONFIG, GENERATION
from openwork.interop.hugging_face.weights import WEIGHTS

LONGEST = 1024  # positions that are announced where the positions reach any length


def write_files(folder: Path, config: dict[str, Any], generation: dict[str, Any], weights: dict[str, Tensor]) -> None:
    """config.json, generation_config.json where there is something to generate, and model.safetensors."""
    write_json(folder / CONFIG, {**config, "torch_dtype": "float32"})
    if generation:
        write_json(folder / GENERATION, generation)
    (folder / WEIGHTS).write_bytes(save(weights, metadata={"format": "pt"}))


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def refuse(closed: Closed | None) -> None:
    """ConfigError, saying why, if the form is closed to a model."""
    if closed is not None:
        raise ConfigError(
            "this model has no counterpart among the architectures of Hugging Face that are written",
            why=closed.why,
            hint=closed.hint,
            code="C031",
        )
