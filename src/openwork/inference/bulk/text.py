"""Shards of text, one sentence a line, plain or compressed; the translation is compressed in the same way."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from openwork.base.files import file_compression, open_binary
from openwork.base.lines import MOST_LINES, lines_of

Batches = Iterator[list[bytes]]
"""The lines of a shard, so many at a time that they fit into memory."""
Write = Callable[[Sequence[str]], None]
"""Writes the answers to the last batch."""


@contextmanager
def open_text(source: Path, target: Path) -> Iterator[tuple[Batches, Write]]:
    """Yields the batches of a text file, and what writes their translations to `target`.

    DataError for a file that cannot be read.
    """
    compression = file_compression(source)
    with ExitStack() as stack:
        lines = lines_of(stack.enter_context(open_binary(source)))
        out = stack.enter_context(target.open("wb"))
        if compression is not None:
            out = stack.enter_context(compression.pack(out))

        def write(answers: Sequence[str]) -> None:
            out.write("".join(f"{answer}\n" for answer in answers).encode("utf-8", errors="replace"))

        yield iter(lambda: list(islice(lines, MOST_LINES)), []), write
