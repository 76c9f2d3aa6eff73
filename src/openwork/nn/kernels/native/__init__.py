"""Kernels for trainings on CPUs, in C++, compiled where there is a compiler; each is held equal to a formula."""

from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from openwork.machine.native.building import Functions, library, problem

FUNCTIONS = Functions(
    "a training's kernels", Path(__file__).parent, ("attention.cpp", "loss.cpp", "norm.cpp", "products.cpp")
)
TYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}  # as the functions' names have them
PLAIN = (Tensor, nn.Parameter)
MULTIPLE = 16  # numbers of a vector or a head, so that they fill registers of any width
FEWEST = 1 << 16  # numbers that are worth a thread of their own


@cache
def is_available() -> bool:
    """Whether this machine has a compiler, and the processor the instructions."""
    return not problem(FUNCTIONS)


def takes(*tensors: Tensor) -> bool:
    """Whether the functions can read these: numbers of one known type on the CPU, which are where the tensors say.

    What traces or divides tensors has types of tensors of its own, and who counts operations sees the framework's only.
    """
    first = tensors[0]
    return (
        first.device.type == "cpu"
        and first.dtype in TYPES
        and not torch.compiler.is_compiling()
        and not torch._C._len_torch_dispatch_stack()
        and all(type(one) in PLAIN and one.dtype is first.dtype for one in tensors)
        and is_available()
    )


def threads_for(tensor: Tensor) -> int:
    """How many threads share the work on its numbers."""
    return max(1, min(torch.get_num_threads(), tensor.numel() // FEWEST))


@cache
def function(name: str, dtype: torch.dtype, *arguments: Any) -> Any:
    """The function of this name for numbers of this type; `arguments`: their types, of ctypes."""
    found = getattr(library(FUNCTIONS), f"openwork_{name}_{TYPES[dtype]}")
    found.argtypes, found.restype = arguments, None
    return found
