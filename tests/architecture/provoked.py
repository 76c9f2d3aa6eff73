"""Which errors the tests provoke: each one that is made in the package, its sentence, and the test that was running.

`OPENWORK_ERRORS=FOLDER pytest ...` writes them into that folder, a file for each process; `error_pages.py` reads them.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from architecture.house import PACKAGE
from openwork.base.errors import OpenworkError

VARIABLE = "OPENWORK_ERRORS"
# The command line in a process of its own, where errors are noted as well.
NOTING = [sys.executable, str(Path(__file__).parents[1] / "noting.py")]


class Provoked(NamedTuple):
    """An error as it was made: its class, its sentence, where in the package, by which test, and its code."""

    kind: str
    what: str
    place: str
    test: str
    code: str


def record(folder: Path) -> None:
    """From now on each error of ours that the package makes is noted, with the test that is running."""
    folder.mkdir(parents=True, exist_ok=True)
    # Opened before a test makes the system refuse this; what is written at its end stays whole.
    notes = os.open(folder / f"{os.getpid()}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    write, plain = os.write, OpenworkError.__init__

    def noting(self: OpenworkError, what: str, *, why: str = "", hint: str = "", code: str = "") -> None:
        plain(self, what, why=why, hint=hint, code=code)
        maker = sys._getframe(1)
        path = Path(maker.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
            place = f"{path.relative_to(PACKAGE).as_posix()}:{maker.f_lineno}"
            write(notes, f"{json.dumps(Provoked(type(self).__name__, what, place, test, code))}\n".encode())

    OpenworkError.__init__ = noting


def note_all() -> None:
    """The same, into the folder that the environment names."""
    record(Path(os.environ[VARIABLE]))


def recorded(folder: Path) -> Iterator[Provoked]:
    """What was noted there, by all processes."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield Provoked(*json.loads(line))
