"""The real command line, as a person meets it: a process of its own, with its streams and its exit code."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from architecture.provoked import NOTING, VARIABLE

COMMAND = [sys.executable, "-m", "openwork"] if VARIABLE not in os.environ else NOTING
ERROR = re.compile(r"^error [A-Z]\d{3}: ", re.MULTILINE)  # `make errors` gives a new error its code
PATIENCE = 1500  # seconds; a busy machine is no failure

# A run of a second: 120 short pairs, a model of some thousand weights.
TINY = """
[data]
corpus = "copy"
count = 120

[text]
vocabulary_size = 400

[batches]
tokens = 128

[model]
kind = "transformer"
width = 16
feedforward_width = 24
heads = 2
encoder_layers = 1
decoder_layers = 1
norm = "pre"
dropout = 0.2

[training]
schedule = "inverse-square-root"
learning_rate = 0.01
warmup = 10
steps = 12
validate_every = 4
validation_sentences = 5
metric = "loss"
average = 2
precision = "float32"
log_every = 2

[decoding]
beam = 2
extra_length = 4
"""


@dataclass(frozen=True)
class Finished:
    """What a command came to."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().split("\n")[:-1]


def openwork(*arguments: str | Path, stdin: bytes = b"", **options: Any) -> Finished:
    """Runs `openwork` with these arguments to its end; `options` are those of `subprocess.run`."""
    command = [*COMMAND, *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, check=False, **options)
    return Finished(done.returncode, done.stdout, done.stderr.decode())


def _heed_interrupts() -> None:
    """A background job of a shell (`pytest &`) ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def start(*arguments: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Starts `openwork` with pipes on all three streams, which no buffer of Python holds back."""
    defaults: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    defaults["preexec_fn"] = _heed_interrupts
    process: Any = subprocess.Popen([*COMMAND, *map(str, arguments)], bufsize=0, **{**defaults, **options})
    return process


def run_file(folder: Path, text: str = TINY, /, **changes: object) -> Path:
    """A run file in the folder; `changes` replace the values of keys, whatever their section."""
    lines = text.splitlines()
    for key, value in changes.items():
        places = [number for number, line in enumerate(lines) if line.startswith(f"{key} = ")]
        assert len(places) == 1, f"{key} stands {len(places)} times in the run file"
        lines[places[0]] = f"{key} = {value}"
    path = folder / "run.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def told(result: Finished, code: int, *words: str) -> str:
    """Checks a refusal: the exit code, one short error with a code, no traceback, and the words it must hold."""
    assert result.code == code, result.err
    assert "Traceback" not in result.err
    (first,) = ERROR.finditer(result.err)
    message = result.err[first.start() :]
    assert len(message.splitlines()) <= 3, message
    for word in words:
        assert word in message, f"{word!r} is not in:\n{message}"
    assert "bug in openwork" not in message
    return message


def tree(folder: Path) -> dict[str, bytes]:
    """All files of a folder, hidden ones too, with what they hold; the lock of a run is no content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def without_colour() -> dict[str, str]:
    """The environment of a plain 80-column terminal."""
    dropped = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "GITHUB_ACTIONS", "PY_COLORS")
    return {**{key: value for key, value in os.environ.items() if key not in dropped}, "TERM": "xterm-256color"}
