"""What is fuzzed: a reader, files that it understands to begin from, and what must lie beside them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """`read` is given a file called `name` that holds a mutated seed; `beside`: other files in its folder."""

    name: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    beside: dict[str, bytes] = field(default_factory=dict)
