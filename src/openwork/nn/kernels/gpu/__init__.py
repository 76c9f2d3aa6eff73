"""Kernels for NVIDIA's GPUs, in Triton, which comes with torch's builds for them; each is held equal to a formula.

Files named `*_kernels.py` import Triton and are loaded only where it is. A kernel is used on a device once it has been
tried there (`trials.py`): what computes wrong, or not at all, with this card, driver or compiler is left to the
framework.
"""

import warnings
from collections.abc import Callable

import torch

from openwork.machine.card import card_of

LONGEST = 256  # tokens of a sentence up to which our kernel is used; the framework's is made for long ones
WIDEST = 128  # numbers of a head: tiles of wider ones do not fit into a processor's registers
NARROW = (torch.bfloat16, torch.float16)
WIDEST_NORM = 4096  # numbers of a vector, which a program holds whole
TOLERANCE = 0.05  # of the largest number: a few times what bfloat16 rounds

Kernel = tuple[str, *tuple[int, ...]]
"""A kernel's name, and the sizes that it is compiled for."""

_right: dict[tuple[Kernel, int], bool] = {}  # and no cache of functools, of which the framework's compiler warns


def doubled(count: int, least: int = 1) -> int:
    """The first of `least`, 2 `least`, 4 `least`, ... that is not below `count`: sizes of which there are few."""
    return least << max(0, (-(-count // least) - 1).bit_length())


def runs_triton(device: torch.device) -> bool:
    """Whether kernels in Triton can run on this device."""
    card = card_of(device)
    return card is not None and card.runs_kernels


def is_available(device: torch.device, *kernel: str | int) -> bool:
    """Whether a kernel has been tried on this device and was right."""
    return device.type == "cuda" and _right.get((kernel, device.index), False)  # type: ignore[arg-type]


def is_right(device: torch.device, kernel: Kernel, difference: Callable[[], float]) -> bool:
    """Tries a kernel once: `difference` is its largest one from a formula, as a share of the largest number."""
    if not runs_triton(device):
        return False
    index = torch.cuda.current_device() if device.index is None else device.index
    if (kernel, index) not in _right:
        _right[kernel, index] = False  # during the trial, what does not force it does without it
        _right[kernel, index] = _is_near(kernel, difference)
    return _right[kernel, index]


def _is_near(kernel: Kernel, difference: Callable[[], float]) -> bool:
    try:
        found = difference()
        problem = "" if found <= TOLERANCE else f"it is wrong by {found:.1%}"
    except Exception as error:  # of a compiler, a driver or a card that nobody has seen yet
        problem = (str(error).splitlines() or [type(error).__name__])[0]
    if problem:
        name = " ".join(map(str, kernel))
        warnings.warn(f"the GPU computes without the kernel {name}, more slowly: {problem}", stacklevel=2)
    return not problem
