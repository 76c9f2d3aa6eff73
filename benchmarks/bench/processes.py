"""One measurement is one process: a peer's script under its own Python, asked once, heard line by line."""

import contextlib
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent.parent / "peers"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
LAST_WORDS = 300  # characters of what a failed peer wrote last


@dataclass(frozen=True)
class Answer:
    """What a peer told, line by line; the most memory it held; and why it failed, if it did."""

    told: list[dict[str, Any]] = field(default_factory=list)
    peak_megabytes: float = 0.0
    failure: str = ""

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one kind, in order."""
        return [line for line in self.told if line["kind"] == kind]

    @property
    def facts(self) -> dict[str, Any]:
        """Versions and the like, all lines of them together."""
        return {key: value for line in self.of("facts") for key, value in line.items() if key != "kind"}


def heard(lines: Iterable[str]) -> list[dict[str, Any]]:
    """The lines that are meant for us: JSON objects with a `kind`. Libraries print other things."""
    found = []
    for line in lines:
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "kind" in value:
            found.append(value)
    return found


def environment_of(threads: int) -> dict[str, str]:
    """The variables of a peer: its threads, and nothing fetched at run time."""
    fixed = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUNBUFFERED": "1"}
    return {**os.environ, **fixed, **dict.fromkeys(THREADS, str(threads))}


def ask(python: Path, script: str, request: Mapping[str, Any], *, threads: int, limit: float) -> Answer:
    """Runs the script with the request; after `limit` seconds it is ended, and what it told until then is kept."""
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(
            [str(python), str(SCRIPTS / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            text=True, env=environment_of(threads), start_new_session=True,
        )  # fmt: skip
        timer = threading.Timer(limit, _end, [child])
        timer.start()
        try:
            assert child.stdin is not None and child.stdout is not None
            with contextlib.suppress(BrokenPipeError):  # it has ended already, and its exit code says so
                child.stdin.write(json.dumps(request))
                child.stdin.close()
            told = heard(child.stdout)
            child.wait()
        except BaseException:
            _end(child)
            child.wait()
            raise
        finally:
            timer.cancel()
        errors.seek(0)
        words = " ".join(errors.read()[-LAST_WORDS:].split())
    peak = max((line.get("peak_megabytes", 0.0) for line in told if line["kind"] == "end"), default=0.0)
    return Answer(told, peak, _failure(told, child.returncode, words, limit))


def _end(child: subprocess.Popen[str]) -> None:
    """The peer and the processes that it started: it has a session of its own."""
    try:
        os.killpg(child.pid, 9)
    except ProcessLookupError:
        return


def _failure(told: list[dict[str, Any]], code: int, words: str, limit: float) -> str:
    for line in told:
        if line["kind"] == "refused":
            return str(line["reason"])
    if code == -9:
        return f"ended: it took longer than {limit:.0f} s, or more memory than there is"
    if code != 0 or not any(line["kind"] == "end" for line in told):
        return f"exit code {code}: {words}"
    return ""
