"""Lines from outside, whatever they hold: made into text one by one, and given as they come. No torch here."""

import queue
import threading
from collections.abc import Iterator
from typing import BinaryIO

LONGEST_LINE = 100_000  # characters; what is longer is cut there, and flagged
MOST_LINES = 2048  # lines that are given together


def clean_line(data: bytes) -> tuple[str, str]:
    """The text of a line without its end, and what was wrong with it (empty: nothing).

    A blank line comes back as it is; bytes that are no text are replaced, so that the line keeps its place.
    """
    problem = ""
    data = data.removesuffix(b"\n").removesuffix(b"\r")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", errors="replace")
        problem = f"invalid UTF-8 at byte {error.start + 1}, replaced"
    if "\0" in text:
        text = text.replace("\0", "")
        problem = "NUL characters, removed"
    if len(text) > LONGEST_LINE:
        text = text[:LONGEST_LINE]
        problem = f"longer than {LONGEST_LINE:,} characters, cut"
    return text, problem


def arriving_lines(stream: BinaryIO) -> Iterator[list[bytes]]:
    """Lines as they come: what is there is given together, and nobody waits for lines that have not been written."""
    lines: queue.Queue[bytes | None] = queue.Queue(maxsize=2 * MOST_LINES)

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    line = lines.get()
    while line is not None:
        batch = [line]
        while len(batch) < MOST_LINES:
            try:
                line = lines.get(timeout=0.02)
            except queue.Empty:
                break
            if line is None:
                break
            batch.append(line)
        yield batch
        if line is not None:
            line = lines.get()
