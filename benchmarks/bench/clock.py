"""The wall time of a training that may be stopped and continued: only what leads to its checkpoints counts."""

import json
import shutil
import time
from pathlib import Path

from openwork.base.files import atomic_write_text
from openwork.training.loop import LoopState, Observer

WEIGHTS = "weights.safetensors"


class Clock(Observer):
    """Notes the seconds from the fresh start to each checkpoint, and keeps a copy of its weights to judge it later.

    The seconds of a stopped call that no checkpoint keeps are lost with its updates, and are not counted: what is done
    again is. `folder` holds `times.json` and a folder for each checkpoint.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begin = time.perf_counter()
        self.before = max(self.times().values(), default=0.0)

    def times(self) -> dict[str, float]:
        """Seconds by the name of the checkpoint, in order."""
        path = self.folder / "times.json"
        return json.loads(path.read_text()) if path.is_file() else {}

    def seconds(self) -> float:
        """From the fresh start until now."""
        return self.before + time.perf_counter() - self.begin

    def note(self, name: str) -> None:
        """Writes down that this was reached now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        times = {**self.times(), name: round(self.seconds(), 2)}
        atomic_write_text(self.folder / "times.json", json.dumps(times))

    def saved(self, run: LoopState, folder: Path) -> None:
        copy = self.folder / folder.name
        copy.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / WEIGHTS, copy / WEIGHTS)
        self.note(folder.name)
