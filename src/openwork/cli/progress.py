"""Progress of long operations: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from openwork.base.printing import one_line
from openwork.cli.terminal import progress_console, write_line

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Yields a function that advances the progress towards `total`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = progress_console()
    if not console.is_terminal or console.is_dumb_terminal:
        yield _line_writer(total, what)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(one_line(what), total=total)
        yield lambda count: bar.advance(task, count)


def _line_writer(total: int, what: str) -> Callable[[int], None]:
    done = 0
    last = time.monotonic()
    write_line(f"{what} total={total}")

    def advanced(count: int) -> None:
        nonlocal done, last
        done += count
        if time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            write_line(f"{what} done={done} total={total}")

    return advanced
