"""The functions of the C++ files here."""

import ctypes
from pathlib import Path

from openwork.machine.native import building
from openwork.machine.native.building import Functions

FUNCTIONS = Functions(
    "the decoder's step",
    Path(__file__).parent,
    ("encoder.cpp", "step.cpp", "best.cpp", "sentence.cpp", "greedy.cpp"),
)


def library() -> ctypes.CDLL:
    """Compiled; NotBuilt where they are not."""
    return building.library(FUNCTIONS)


def problem() -> str:
    """Why they are not available on this machine; empty: they are."""
    return building.problem(FUNCTIONS)
