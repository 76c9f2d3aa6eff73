"""Where models are computed."""

import torch


def choose_device() -> torch.device:
    """The GPU if torch can use one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
