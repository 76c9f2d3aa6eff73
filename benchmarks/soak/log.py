"""What was sampled, kept as it comes: a line of JSON for each look, so that a stop loses nothing."""

import json
from dataclasses import asdict
from pathlib import Path

from soak.judging import Moment, sittings
from soak.sampling import Sample


class Log:
    """The samples of one part of the soak, of all its sittings so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.moments = [Moment(**json.loads(line)) for line in _whole_lines(path)]
        self.sitting = max((moment.sitting for moment in self.moments), default=0) + 1

    @property
    def seconds(self) -> float:
        """In all sittings together."""
        return sum(part[-1].seconds for part in sittings(self.moments))

    def add(self, seconds: float, sample: Sample, done: float) -> None:
        """Notes one look of this sitting."""
        moment = Moment(self.sitting, round(seconds, 2), **asdict(sample), done=done)
        self.moments.append(moment)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(moment)) + "\n")


def _whole_lines(path: Path) -> list[str]:
    """A last line that was cut off by a stop is left out, in the file too."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return whole.splitlines()
