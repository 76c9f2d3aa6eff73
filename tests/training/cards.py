"""GPUs that tests describe, since they have none."""

import pytest
import torch

from openwork.machine import card as card_module
from openwork.machine.card import Card

GPU = torch.device("cuda")
GIB = 1 << 30
A100 = Card("A100", (8, 0), 80 * GIB, has_triton=True)
H100 = Card("H100", (9, 0), 80 * GIB, has_triton=True)
SMALL = Card("RTX 3050", (8, 6), 6 * GIB, has_triton=True)
OLD = Card("GTX 1660", (7, 5), 6 * GIB, has_triton=True)
WITHOUT_TRITON = Card("A100", (8, 0), 80 * GIB, has_triton=False)


def be(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first GPU is this one, for all that asks `card_of`."""
    monkeypatch.setattr(card_module, "_known", {0: card})
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
