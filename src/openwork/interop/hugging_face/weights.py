"""The weights of a Hugging Face folder: one safetensors file, or several with an index."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.regular_files import read_regular
from openwork.models.weights import read_tensors

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_MOST_INDEX = 64 << 20  # bytes
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Name -> tensor. BundleError for what is missing or damaged, and for weights that are only there as a pickle."""
    if (folder / WEIGHTS).is_file():
        return read_tensors((folder / WEIGHTS).resolve())
    if (folder / INDEX).is_file():
        return {name: tensor for file in _parts(folder) for name, tensor in read_tensors(file.resolve()).items()}
    other = next((name for name in PICKLES if (folder / name).is_file()), None)
    if other is not None:
        raise BundleError(
            f"{folder}: its weights are in {other}, which is not read",
            why="openwork reads safetensors alone, which hold numbers and nothing that could run when it is opened",
            hint="where you trust the file, load it with transformers and write it again with save_pretrained",
            code="B030",
        )
    raise BundleError(
        f"{folder}: no weights",
        why=f"there is no {WEIGHTS}",
        hint="name the folder that save_pretrained wrote",
        code="B031",
    )


def _parts(folder: Path) -> list[Path]:
    """The files that the index names, which lie in the folder itself."""
    path = folder / INDEX
    try:
        names = set(json.loads(read_regular(path.resolve(), _MOST_INDEX).decode("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BundleError(
            f"{path}: damaged, or no index of weights", why=str(error), hint="fetch the file again", code="B032"
        ) from error
    if not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise BundleError(
            f"{path}: damaged, or no index of weights",
            why="it names files outside its folder",
            hint="fetch the folder again from its makers, and trust no other copy",
            code="B032",
        )
    return [folder / name for name in sorted(names)]


def find_weight(weights: Mapping[str, Tensor], names: Sequence[str], folder: Path) -> tuple[str, Tensor]:
    """The first of the names that is there, and its weight in float32; BundleError where none is."""
    name = next((name for name in names if name in weights), None)
    if name is None:
        raise BundleError(
            f"{folder}: a weight is missing",
            why=f"there is no {' or '.join(names)}",
            hint="fetch the folder again: config.json and weights must be of one model",
            code="B016",
        )
    return name, weights[name].float()


def size_error(folder: Path, name: str, tensor: Tensor, shape: Sequence[object]) -> BundleError:
    """The error for a weight that should have another shape."""
    return BundleError(
        f"{folder}: these weights belong to a model of other sizes",
        why=f"{name} is {tuple(tensor.shape)} there, and its configuration makes it ({', '.join(map(str, shape))})",
        hint="fetch the folder again: config.json and weights must be of one model",
        code="B017",
    )
