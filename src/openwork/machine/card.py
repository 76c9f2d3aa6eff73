"""What a GPU is, as far as choices depend on it: the type of products, kernels, and how much is computed at once.

torch is loaded only to ask for a GPU.
"""

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

DRIVERS = (Path("/dev/nvidiactl"), Path("/dev/dxg"))  # of NVIDIA: under Linux, and in Windows' Linux
BFLOAT16 = (8, 0)  # compute capability of the first GPUs with products in bfloat16: Ampere
MOST_LOGITS = 512_000_000  # of a loss, in memory at once; more are not faster
MOST_SEARCHED = 131_072  # padded source positions times hypotheses that are searched together
FEWEST_SEARCHED = 2_048
MOST_TRAINED, FEWEST_TRAINED = 25_000, 2_048  # target tokens of a batch: the paper's


class Device(Protocol):
    """A `torch.device`."""

    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int | None: ...


@dataclass(frozen=True)
class Card:
    """One GPU. `memory`: bytes. `has_triton`: whether the compiler of kernels is installed."""

    name: str
    capability: tuple[int, int]
    memory: int
    has_triton: bool

    @property
    def has_bfloat16(self) -> bool:
        """Whether it has products in bfloat16, and the framework's attention for rows of several sentences."""
        return self.capability >= BFLOAT16

    @property
    def runs_kernels(self) -> bool:
        """Whether kernels of our own can run."""
        return self.has_bfloat16 and self.has_triton

    @property
    def logits_at_once(self) -> int:
        """For the loss: two bytes each, which are a sixteenth of the memory at most."""
        return min(MOST_LOGITS, self.memory // 32)

    @property
    def search_tokens(self) -> int:
        """Padded source positions times hypotheses that are searched together.

        A step takes about as long for few rows as for many; their keys and values of a base model take 50 KB for each.
        """
        return min(MOST_SEARCHED, max(FEWEST_SEARCHED, self.memory >> 19))

    @property
    def training_tokens(self) -> int:
        """Target tokens of a batch of the paper's base model; 25,000 take 7 GB (benchmarks/results/gpu.json)."""
        return min(MOST_TRAINED, max(FEWEST_TRAINED, self.memory >> 19))


_known: dict[int, Card] = {}


def card_of(device: Device) -> Card | None:
    """The GPU that a device is; None: it is none."""
    if device.type != "cuda":
        return None
    import torch

    index = torch.cuda.current_device() if device.index is None else device.index
    if index not in _known:
        facts = torch.cuda.get_device_properties(index)
        has_triton = importlib.util.find_spec("triton") is not None and torch.version.cuda is not None
        _known[index] = Card(facts.name, (facts.major, facts.minor), facts.total_memory, has_triton)
    return _known[index]


def card_here() -> Card | None:
    """The GPU that a training on this machine uses; None: there is none, as where no driver of one is."""
    if "torch" not in sys.modules and shutil.which("nvidia-smi") is None and not any(map(Path.exists, DRIVERS)):
        return None
    from openwork.machine.device import choose_device

    return card_of(choose_device())
