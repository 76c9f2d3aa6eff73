"""`openwork translate` fed through a pipe, as a person runs it for long: lines in, and for each a line out."""

import random
import subprocess
import threading
from pathlib import Path
from typing import IO

from soak.lines import blocks
from soak.work import COMMAND, GRACE, WorkFailed, last_words

PATIENCE = 600.0  # seconds for one block of lines, on a machine that is busy with other things too


class Translating:
    """One process, which gets the next block of lines when the last one is answered."""

    def __init__(self, folder: Path, bundle: Path, options: list[str], seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._said = folder / "translating.log"
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [*COMMAND, "translate", "--bundle", str(bundle), *options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said,
            )  # fmt: skip
        self._blocks = blocks(random.Random(seed))
        self._given = self._answers = 0
        self._answered = threading.Condition()
        self._failure = ""
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=part, daemon=True) for part in (self._feed, self._count)]
        for thread in self._threads:
            thread.start()

    def done(self) -> float:
        """Lines that were answered."""
        if self._failure:
            raise WorkFailed(f"{self._failure}\n{last_words(self._said)}")
        return float(self._answers)

    def end(self) -> None:
        """By the end of its input; every line must have been answered by then, and none twice."""
        self._ending.set()
        self._threads[0].join(PATIENCE + 1)
        self.done()
        _pipe(self.process.stdin).close()
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired as error:
            raise WorkFailed(f"the translator did not end within {GRACE:.0f} s of its input's end") from error
        self._threads[1].join(GRACE)
        if code or self._answers != self._given:
            raise WorkFailed(f"exit code {code}, {self._given} lines in, {self._answers} out\n{last_words(self._said)}")

    def _feed(self) -> None:
        try:
            while not self._ending.is_set():
                block = next(self._blocks)
                stream = _pipe(self.process.stdin)
                stream.write(b"".join(block))
                stream.flush()
                self._given += len(block)
                with self._answered:
                    if not self._answered.wait_for(lambda: self._answers >= self._given, PATIENCE):
                        self._failure = f"no answer to a line within {PATIENCE:.0f} s"
                        return
        except OSError as error:
            self._failure = f"the translator reads no more: {error}"

    def _count(self) -> None:
        for _ in _pipe(self.process.stdout):
            with self._answered:
                self._answers += 1
                self._answered.notify()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
