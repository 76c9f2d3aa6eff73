"""Untrusted input lines: decoding one by one, and reading them as they arrive. No torch here."""

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

from openwork.base.messages import msg

LONGEST_LINE = 100_000  # characters; a longer line is cut there and flagged
LONGEST_READ = 4 * LONGEST_LINE + 8  # bytes kept of a line: always more than LONGEST_LINE characters
MOST_LINES = 2048  # lines in a batch
Report = Callable[[str], None]
"""Called with a sentence for the user."""

OnProgress = Callable[[int], None]
"""Called with the number of texts that are done since the last call."""


def ignore_progress(count: int) -> None:
    """The `OnProgress` of callers who do not watch."""


def clean_line(data: bytes) -> tuple[str, str]:
    """The text of a line without its end, and its problems (empty: none).

    A blank line is kept; invalid bytes are replaced, so that no line is lost.
    """
    problems = []
    is_long = len(data) >= LONGEST_READ
    data = data.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", errors="replace")
        # a line that was cut may end in half a character
        if not (is_long and error.start > len(data) - 4):
            problems.append(msg(f"invalid UTF-8 at byte {error.start + 1}, replaced"))
    if "\0" in text:
        text = text.replace("\0", "")
        problems.append(msg("NUL characters, removed"))
    if is_long or len(text) > LONGEST_LINE:
        text = text[:LONGEST_LINE]
        problems.append(msg(f"longer than {LONGEST_LINE:,} characters, cut"))
    return text, "; ".join(problems)


def cleaned(data: bytes, place: str, report: Report) -> str:
    """The text of a line; what is wrong with it is reported under its place."""
    text, problem = clean_line(data)
    if problem:
        report(f"{place}: {problem}")
    return text


def standard_input() -> BinaryIO:
    """Standard input with its own buffer, since a thread may still read it when the process ends."""
    return open(sys.stdin.fileno(), "rb", closefd=False)


def lines_of(stream: BinaryIO, most: int = LONGEST_READ) -> Iterator[bytes]:
    """The lines with their line ends; of a longer one only `most` bytes, by default those of `clean_line`."""
    while line := stream.readline(most):
        rest = line
        while not rest.endswith(b"\n") and len(rest) == most:
            rest = stream.readline(most)
        yield line


def arriving_lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Lines as they arrive: all available lines at once, without waiting for more.

    A read error is raised after the lines before it.
    """
    lines: queue.Queue[bytes | Exception | None] = queue.Queue(maxsize=2 * MOST_LINES)

    def read() -> None:
        try:
            for line in lines_of(stream):
                lines.put(line)
            lines.put(None)
        except (OSError, ValueError) as error:
            lines.put(error)

    threading.Thread(target=read, daemon=True).start()
    line = lines.get()
    while isinstance(line, bytes):
        batch = [line]
        while len(batch) < MOST_LINES:
            try:
                line = lines.get(timeout=0.02)
            except queue.Empty:
                break
            if not isinstance(line, bytes):
                break
            batch.append(line)
        yield batch
        if isinstance(line, bytes):
            line = lines.get()
    if line is not None:
        raise line
