"""Lines from outside, whatever they hold: made into text one by one, and given as they come. No torch here."""

import queue
import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO

LONGEST_LINE = 100_000  # characters; what is longer is cut there, and flagged
LONGEST_READ = 4 * LONGEST_LINE + 8  # bytes that are kept of a line: more than that many characters, in any case
MOST_LINES = 2048  # lines that are given together


def clean_line(data: bytes) -> tuple[str, str]:
    """The text of a line without its end, and what was wrong with it (empty: nothing).

    A blank line comes back as it is; bytes that are no text are replaced, so that the line keeps its place.
    """
    problems = []
    is_long = len(data) >= LONGEST_READ
    data = data.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", errors="replace")
        # where the line was cut while it was read, half a character may stand at the end
        if not (is_long and error.start > len(data) - 4):
            problems.append(f"invalid UTF-8 at byte {error.start + 1}, replaced")
    if "\0" in text:
        text = text.replace("\0", "")
        problems.append("NUL characters, removed")
    if is_long or len(text) > LONGEST_LINE:
        text = text[:LONGEST_LINE]
        problems.append(f"longer than {LONGEST_LINE:,} characters, cut")
    return text, "; ".join(problems)


def standard_input() -> BinaryIO:
    """Standard input with a buffer of its own: a thread may still wait for it when the process ends."""
    return open(sys.stdin.fileno(), "rb", closefd=False)


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines with their ends, however they end; of a line without end no more is kept than `clean_line` needs."""
    while line := stream.readline(LONGEST_READ):
        rest = line
        while not rest.endswith(b"\n") and len(rest) == LONGEST_READ:
            rest = stream.readline(LONGEST_READ)
        yield line


def arriving_lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Lines as they come: what is there is given together, and nobody waits for lines that have not been written.

    A failure to read is raised where the lines before it have been given.
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
