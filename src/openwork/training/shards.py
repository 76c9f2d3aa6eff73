"""The tensors of a checkpoint in files of their own for each process, by `torch.distributed.checkpoint`.

They are safetensors, so that reading unpickles nothing: a name, its file's type, numbers, and where a part belongs in
the whole. Any number of processes reads what any number has written; each reads the parts that it needs.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.tensor import DTensor, distribute_tensor

from openwork.base.errors import BundleError
from openwork.machine.processes import Processes

Like = Callable[[str], Tensor | None]
"""The tensor of a name, which a part is to be divided as; None: there is none."""


def save_shards(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], processes: Processes) -> None:
    """Writes this process's parts of the tensors; all processes call it at the same time."""
    named = {f"{file}/{name}": tensor for file, content in tensors.items() for name, tensor in content.items()}
    with _one_line_at_most():
        writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
        save(named, storage_writer=writer, process_group=processes.group)


def shard_sizes(folder: Path, file: str) -> dict[str, TensorStorageMetadata]:
    """What the shards hold of the tensors of one file: by name, the size of the whole and where its parts are.

    BundleError for shards that are damaged, or do not cover their tensors.
    """
    with _damage(folder):
        known = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
    found = {}
    for name, sizes in known.items():
        assert isinstance(sizes, TensorStorageMetadata)
        if sum(math.prod(chunk.sizes) for chunk in sizes.chunks) != math.prod(sizes.size):
            raise _damaged(folder, f"a part of {name} is missing")
        if name.startswith(f"{file}/"):
            found[name.removeprefix(f"{file}/")] = sizes
    return found


def read_shards(folder: Path, file: str, like: Like, *, others: bool = True) -> dict[str, Tensor]:
    """The tensors of one file, divided as `like` says; `others`: also those that `like` does not know."""
    found = {}
    for name, known in shard_sizes(folder, file).items():
        own = like(name)
        if own is None and not others:
            continue
        if isinstance(own, DTensor) and own.shape == known.size:
            found[name] = torch.empty_like(own)
        else:
            found[name] = torch.empty(known.size, dtype=known.properties.dtype)
    named = {f"{file}/{name}": tensor for name, tensor in found.items()}
    with _damage(folder), _one_line_at_most():
        load(named, storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=True)
    return found


def divided_like(whole: Mapping[str, Tensor], like: Like) -> dict[str, Tensor]:
    """The tensors, those of them as this process's part that `like` has divided."""
    return {name: _divided(tensor, like(name)) for name, tensor in whole.items()}


def _divided(whole: Tensor, like: Tensor | None) -> Tensor:
    if isinstance(like, DTensor) and not isinstance(whole, DTensor) and like.shape == whole.shape:
        # no process sends: each has read the whole
        return distribute_tensor(whole.to(like.device), like.device_mesh, like.placements, src_data_rank=None)
    return whole


@contextmanager
def _one_line_at_most() -> Iterator[None]:
    """A context without torch's remark that a single process loads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


@contextmanager
def _damage(folder: Path) -> Iterator[None]:
    try:
        yield
    except (SafetensorError, CheckpointException, ValueError, KeyError, TypeError, RuntimeError, OSError) as error:
        raise _damaged(folder, (str(error).splitlines() or [""])[0]) from error


def _damaged(folder: Path, why: str) -> BundleError:
    return BundleError(
        f"{folder}: the shards of this checkpoint do not make a whole",
        why=why,
        hint="delete this folder; the checkpoint before it is used",
        code="B073",
    )
