"""Back from a device without waiting: through memory that its copying engine writes by itself."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def fetched(parts: Sequence[Tensor]) -> Callable[[], list[np.ndarray[Any, Any]]]:
    """Copies of what is in the parts now; the function waits for them. Later changes of the parts do not matter."""
    device = parts[0].device
    if device.type != "cuda":
        copies = [part.detach().cpu().clone().numpy() for part in parts]
        return lambda: copies
    pinned = [torch.empty(part.shape, dtype=part.dtype, pin_memory=True) for part in parts]
    for copied, part in zip(pinned, parts, strict=True):
        copied.copy_(part, non_blocking=True)
    ready = torch.cuda.current_stream(device).record_event()

    def wait() -> list[np.ndarray[Any, Any]]:
        ready.synchronize()
        return [copied.numpy() for copied in pinned]

    return wait
