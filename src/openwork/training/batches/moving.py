"""Numbers on their way to the device that computes."""

import torch
from torch import Tensor


def moved(tensor: Tensor, device: torch.device) -> Tensor:
    """The same numbers on a device; on a CPU the very same tensor.

    From pinned memory a GPU fetches them while both sides go on, and uses them in the order in which it was told to;
    torch keeps the memory until the copy is made.
    """
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
