"""A model's weights as named tensors, each once: shared ones are stored under their first name.

Facts that a model keeps with its weights, such as which pieces begin a word or the running statistics of batch norms,
are among them: its persistent buffers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from openwork.base.errors import BundleError
from openwork.base.regular_files import read_regular, unreadable

MOST_BYTES = 1 << 36  # of a file of weights


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """Name -> tensor (not a copy)."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()} | model_facts(model)


def model_facts(model: nn.Module) -> dict[str, Tensor]:
    """Name -> tensor (not a copy), of the persistent buffers alone."""
    return {
        f"{place}.{name}" if place else name: buffer
        for place, module in model.named_modules()
        for name, buffer in module.named_buffers(recurse=False)
        if name not in module._non_persistent_buffers_set
    }


def restore_weights(model: nn.Module, weights: Mapping[str, Tensor], origin: str) -> None:
    """Puts the weights into the model; names and shapes must fit exactly. `origin` is named in the error."""
    own = model_weights(model)
    missing, foreign = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    if missing or foreign:
        why = f"missing: {', '.join(missing[:3]) or 'none'}; unknown: {', '.join(foreign[:3]) or 'none'}"
        raise BundleError(
            f"{origin}: these weights belong to another model",
            why=why,
            hint="copy the folder again: weights and settings must be of one model",
            code="B059",
        )
    for name, tensor in own.items():
        if tensor.shape != weights[name].shape:
            raise BundleError(
                f"{origin}: these weights belong to a model of other sizes",
                why=f"{name} is {tuple(weights[name].shape)} there and {tuple(tensor.shape)} in the settings",
                hint="copy the folder again: weights and settings must be of one model",
                code="B017",
            )
    for name, tensor in own.items():
        tensor.copy_(weights[name])


def tensors_to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """The safetensors form: names, types, shapes and numbers, and nothing that could run."""
    return save({name: tensor.contiguous().cpu() for name, tensor in tensors.items()})


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Reads a safetensors file; one that is cut off or of another kind is refused, and so is a link or a pipe."""
    try:
        return load(read_regular(path, MOST_BYTES))
    except FileNotFoundError as error:
        raise BundleError(f"{path}: the file is missing", hint="copy the whole folder again", code="B060") from error
    except OSError as error:
        raise unreadable(path, error) from error
    except SafetensorError as error:
        raise BundleError(
            f"{path}: damaged or not a safetensors file",
            why=str(error),
            hint="copy the whole folder again",
            code="B061",
        ) from error


DRAWS = (Tensor.normal_, Tensor.uniform_, nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_)


@contextmanager
def empty_weights() -> Iterator[None]:
    """What is built within has names, shapes and types, but no memory and no weights."""
    with torch.device("meta"), _NothingDrawn(lambda tensor: tensor.is_meta):
        yield


@contextmanager
def uninitialised() -> Iterator[None]:
    """What is built within has memory with arbitrary contents, to be overwritten with saved weights.

    To draw what is then thrown away takes a second for the paper's base model, and changes the random numbers that
    come after.
    """
    with _NothingDrawn(lambda tensor: True):
        yield


class _NothingDrawn(TorchFunctionMode):
    """Leaves out the drawing of the tensors that `skips` names.

    Without memory the framework would draw by an implementation whose import takes almost two seconds.
    """

    def __init__(self, skips: Callable[[Tensor], bool]) -> None:
        super().__init__()
        self._skips = skips

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        named = kwargs or {}
        drawn = args[0] if args else named.get("tensor")
        if func in DRAWS and isinstance(drawn, Tensor) and self._skips(drawn):
            return drawn
        return func(*args, **named)
