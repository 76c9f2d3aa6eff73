"""The runs in folders that a user names: a run itself, or a folder of runs such as an experiment's."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from openwork.base.errors import UsageError
from openwork.base.outputs import is_run
from openwork.runs.compared.history import RunHistory, read_history
from openwork.runs.folder import RunFolder

MOST_RUNS = 200
DEEPEST = 6  # folders below one that is named
MOST_FOLDERS = 10_000


def find_runs(paths: Sequence[Path]) -> dict[str, Path]:
    """The folders of runs by their names, in the order of the paths: each name is as short as it can be.

    Raises:
        UsageError: there is none in one of these paths, or there are more than `MOST_RUNS`.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        runs = list(_runs_in(path))
        if not runs:
            raise UsageError(
                f"{path}: no run is here",
                hint="name a folder that openwork train --out made, or a folder of such folders",
                code="U161",
            )
        found.update((run.resolve(), run) for run in runs if run.resolve() not in found)
    if len(found) > MOST_RUNS:
        raise UsageError(
            f"{len(found)} runs; at most {MOST_RUNS} are shown beside each other",
            hint="name fewer folders",
            code="U162",
        )
    return dict(zip(_names(found), found.values(), strict=True))


def read_runs(paths: Sequence[Path]) -> list[RunHistory]:
    """The runs in these folders, as far as they are recorded."""
    return [read_history(RunFolder(folder), name) for name, folder in find_runs(paths).items()]


def _runs_in(path: Path) -> Iterator[Path]:
    """Runs below a folder, in the order of their paths; links are not followed."""
    start = len(path.parts)
    for folder, inner, _ in islice(os.walk(path), MOST_FOLDERS):
        here = Path(folder)
        inner.sort()
        if is_run(here):
            yield here
            inner.clear()
        elif len(here.parts) - start >= DEEPEST:
            inner.clear()


def _names(folders: Iterable[Path]) -> list[str]:
    """What differs in the paths: all that they share is left out, but of a single one the last part stays."""
    parts = [folder.parts for folder in folders]
    shared = 0
    while all(len(one) > shared + 1 for one in parts) and len({one[shared] for one in parts}) == 1:
        shared += 1
    return ["/".join(one[shared:]) for one in parts]
