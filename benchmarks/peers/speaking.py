"""How a peer talks with the harness: one JSON request on standard input, JSON lines on standard output.

Each line has a `kind`; what libraries print besides is passed over by the harness. Needs nothing but Python.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def hear() -> dict[str, Any]:
    """The request."""
    return json.loads(sys.stdin.read())


def tell(kind: str, **facts: Any) -> None:
    """One line to the harness."""
    print(json.dumps({"kind": kind, **facts}, ensure_ascii=False), flush=True)


def tell_end() -> None:
    """The last line, with the most memory that this process held, in megabytes; 0 where the system does not say.

    Not what its parent hears of a child that has ended: that begins at what the parent held when it started the child.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        status = ""
    found = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")]
    tell("end", peak_megabytes=round(found[0] / 1024, 1) if found else 0.0)


def tell_update(tokens: int, seconds: float) -> None:
    """One update of the weights: the real target tokens it learnt from, end symbols counted, padding not."""
    tell("update", units=tokens, seconds=round(seconds, 6))


def tell_pass(sentences: int, seconds: float, setting: str) -> None:
    """All sentences translated once with this setting, such as a batch size."""
    tell("pass", units=sentences, seconds=round(seconds, 6), setting=setting)


def read_lines(path: str) -> list[str]:
    """The lines of a file, without their ends."""
    return Path(path).read_text(encoding="utf-8").split("\n")[:-1]


def write_lines(path: str, lines: Iterable[str]) -> None:
    """The lines as a file."""
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_pieces(path: str) -> list[list[str]]:
    """Sentences as pieces: a JSON list of lists."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def write_pieces(path: str, sentences: list[list[str]]) -> None:
    """Sentences as pieces, for `read_pieces`."""
    Path(path).write_text(json.dumps(sentences, ensure_ascii=False), encoding="utf-8")
