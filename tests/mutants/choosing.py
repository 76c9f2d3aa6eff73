"""Which tests a mutant is shown: those that import its module, and those of its room."""

import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
# These start whole commands, kill processes or need other packages: too slow, or about something else.
OTHERS = ("architecture", "benchmarks", "cli", "faults", "fuzz", "interop", "journeys", "mutants", "parity", "soak")
# What stands for a whole room besides the files that name a module.
ROOMS = {
    "nn": ("nn", "models/test_contract.py", "models/test_transformer.py"),
    "models": ("models",),
    "decoding": ("decoding",),
    "training": ("training",),
    "text": ("text",),
    "metrics": ("metrics",),
    "data": ("data",),
    "bundles": ("bundles",),
    "inference": ("inference",),
    "evaluation": ("evaluation",),
}  # fmt: skip


def near(path: str) -> list[Path]:
    """The files of tests that import a module."""
    module = "openwork." + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    parent, _, name = module.rpartition(".")
    asked = re.compile(rf"{re.escape(module)}\b|from {re.escape(parent)} import [^\n]*\b{name}\b")
    return [test for test in _files() if asked.search(test.read_text("utf-8"))]


def tests_of(path: str) -> list[Path]:
    """The files of tests for a module, the nearest first."""
    room = [test for place in ROOMS[path.partition("/")[0]] for test in _below(TESTS / place)]
    return list(dict.fromkeys([*near(path), *room]))


def _below(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("test_*.py"))


@cache
def _files() -> tuple[Path, ...]:
    return tuple(test for test in _below(TESTS) if test.relative_to(TESTS).parts[0] not in OTHERS)
