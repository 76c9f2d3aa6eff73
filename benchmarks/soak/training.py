"""A training that never ends, as a process: validations with translations, and checkpoints, every few updates."""

import json
import os
import signal
import subprocess
from pathlib import Path

from openwork.cli.terminal import INTERRUPTED
from soak.work import COMMAND, GRACE, WorkFailed, last_words

# Like the recipe of Multi30k, but for what ends a run, and for what makes it save.
RUN = """\
[data]
corpus = "{corpus}"

[text]
vocabulary_size = {vocabulary}

[batches]
tokens = {tokens}

[model]
preset = "{preset}"
dropout = 0.3

[training]
schedule = "inverse-square-root"
learning_rate = 0.003
warmup = 500
steps = 100000000
validate_every = {validate_every}
validation_sentences = {sentences}
metric = "loss"
patience = 100000000
average = 3
log_every = 5

[decoding]
beam = 4
"""
REAL = {"corpus": "multi30k-en-de", "vocabulary": 4000, "tokens": 2048, "preset": "small"}
BUILT_IN = {"corpus": "copy", "vocabulary": 400, "tokens": 1024, "preset": "small"}
OFTEN = {"validate_every": 20, "sentences": 20}


def run_text() -> str:
    """The run file: on the real corpus where OPENWORK_DATA is named, else on one that is built in."""
    return RUN.format(**(REAL if os.environ.get("OPENWORK_DATA") else BUILT_IN), **OFTEN)


class Training:
    """`openwork train` in a folder; started there again it goes on."""

    def __init__(self, folder: Path, text: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._run, self._said = folder / "run", folder / "training.log"
        file = folder / "soak.toml"
        if not file.exists():  # a run that has begun keeps its settings
            file.write_text(text, encoding="utf-8")
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [*COMMAND, "train", str(file), "--out", str(self._run)],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip

    def done(self) -> float:
        """The updates of the run; what it says of them is read from the end of its record."""
        return float(self._last_step().get("step", 0))

    def tokens_per_second(self) -> float:
        """As the run's record has it."""
        return float(self._last_step().get("tokens_per_second", 0.0))

    def end(self) -> None:
        """By SIGTERM: it saves, and must end with what that is said to end with."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired as error:
            raise WorkFailed(f"the training did not end within {GRACE:.0f} s of SIGTERM") from error
        if code not in (0, INTERRUPTED):
            raise WorkFailed(f"the training ended with exit code {code}:\n{last_words(self._said)}")

    def _last_step(self) -> dict[str, float]:
        path = self._run / "records.jsonl"
        if not path.exists():
            return {}
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - 50_000, 0))
            lines = file.read().split(b"\n")
        for line in reversed(lines[:-1]):
            if b'"kind": "step"' in line and line.startswith(b"{"):
                return json.loads(line)
        return {}
