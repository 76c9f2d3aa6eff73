"""How many inputs each target has had, over all sittings: what was done is not done again."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzz.harness import Outcome


@dataclass
class Count:
    """Of one target. `slices`: how many runs of the generator, which seed the next one."""

    inputs: int = 0
    refused: int = 0
    failures: int = 0
    seconds: float = 0.0
    slices: int = 0

    def add(self, outcome: Outcome, seconds: float) -> None:
        """What another run of the generator came to."""
        self.inputs += outcome.inputs
        self.refused += outcome.refused
        self.failures += len(outcome.found)
        self.seconds = round(self.seconds + seconds, 1)
        self.slices += 1


@dataclass
class Tally:
    """The counts by target, in a file that is written after each run of the generator."""

    path: Path
    counts: dict[str, Count] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Tally":
        """What the file says; nothing where there is none."""
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return cls(path, {name: Count(**values) for name, values in known.items()})

    def of(self, name: str) -> Count:
        """The count of a target, which `write` keeps."""
        return self.counts.setdefault(name, Count())

    def write(self) -> None:
        """Whole or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps({name: asdict(count) for name, count in self.counts.items()}, indent=1) + "\n")
        partial.replace(self.path)
