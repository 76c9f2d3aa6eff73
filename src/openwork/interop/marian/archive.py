"""Marian's .npz: arrays of numbers in an archive, of which one holds the model's settings as YAML.

Nothing is unpickled. The archive is not compressed, as Marian writes it, so that no memory is taken for bytes that the
file does not hold.
"""

import math
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from numpy.lib import format as arrays
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.messages import msg
from openwork.base.regular_files import open_regular, unreadable

SETTINGS = "special:model.yml"
ENDING = ".npy"
MOST_BYTES = 64 << 30  # of an archive
MOST_ENTRIES, MOST_SETTINGS, MOST_DIMENSIONS = 20_000, 1 << 20, 4
NUMBERS = {"<f4": np.float32, "<f2": np.float16, "|i1": np.int8, "|u1": np.uint8}


def read_archive(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The weights in float32, those of one row (1, n) as vectors; and the settings by their names, all as texts.

    BundleError for what is missing, damaged or no model of Marian's.
    """
    try:
        with open_regular(path.resolve(), MOST_BYTES) as file, zipfile.ZipFile(file) as archive:
            found = {name: _array(archive.read(entry)) for name, entry in _entries(archive, path).items()}
        content = found.pop(SETTINGS, np.zeros(0, np.int8)).tobytes()
        if len(content) > MOST_SETTINGS:
            raise ValueError(msg(f"its settings have more than {MOST_SETTINGS:,} bytes"))
        settings = yaml_object(content.rstrip(b"\0 \n"))
    except OSError as error:
        raise unreadable(path, error) from error
    except (ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, SyntaxError) as error:
        raise BundleError(
            f"{path}: this is no model of Marian that openwork can read",
            why=str(error),
            hint="fetch the file again; a .bin was made of an .npz, which can be read",
            code="B083",
        ) from error
    return {name: _weight(array) for name, array in found.items()}, settings


def _entries(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise ValueError(msg("its entries are more than the file holds"))
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise ValueError(msg("it is compressed, which Marian's archives are not"))
    return {entry.filename.removesuffix(ENDING): entry for entry in entries}


def _array(data: bytes) -> np.ndarray:
    """An array in numpy's own form, whose header tells type and sizes."""
    stream = BytesIO(data)
    version = arrays.read_magic(stream)
    read_header = arrays.read_array_header_1_0 if version == (1, 0) else arrays.read_array_header_2_0
    shape, by_columns, kind = read_header(stream)
    if kind.str not in NUMBERS:
        raise ValueError(msg(f"it holds numbers of the type {kind.str}"))
    numbers = data[stream.tell() :]
    if len(shape) > MOST_DIMENSIONS or math.prod(shape) * kind.itemsize != len(numbers):
        raise ValueError(msg("an array has another size than its header tells"))
    return np.frombuffer(numbers, kind).reshape(shape, order="F" if by_columns else "C")


def _weight(array: np.ndarray) -> Tensor:
    made = torch.from_numpy(array.astype(np.float32, order="C"))
    return made.flatten() if made.ndim == 2 and made.shape[0] == 1 else made


def write_archive(path: Path, weights: Mapping[str, Tensor], settings: Mapping[str, Any]) -> None:
    """The inverse of `read_archive`: vectors become matrices of one row, and the settings end in a zero byte."""
    matrices = {name: weight.reshape(-1, weight.shape[-1]).numpy() for name, weight in weights.items()}
    text = yaml_text(settings).encode() + b"\0"
    with path.open("wb") as file:
        np.savez(file, **matrices, **{SETTINGS: np.frombuffer(text, np.int8)})  # type: ignore[arg-type]


def yaml_text(content: Mapping[str, Any]) -> str:
    """The content as YAML in the given order, in quotation marks where a text such as "no" would be something else."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.dump(dict(content), Dumper=dumper, sort_keys=False, allow_unicode=True)


def yaml_object(data: bytes) -> dict[str, Any]:
    """The object in YAML, with texts and lists of texts alone: a piece such as "no" is none of YAML's own words.

    ValueError for others.
    """
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(msg("its YAML is damaged")) from error
    if not isinstance(node, yaml.MappingNode) or not all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
        raise ValueError(msg("it has no settings in YAML"))
    return {key.value: _plain(value) for key, value in node.value}


def _plain(node: yaml.Node) -> str | list[str]:
    """The text of a value as it is written, or those of a list."""
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode) and all(isinstance(one, yaml.ScalarNode) for one in node.value):
        return [one.value for one in node.value]
    raise ValueError(msg("it has no settings in YAML"))
