"""Where corpora lie on this machine: the folder given, OPENWORK_DATA, and the cache of what was fetched."""

import os
from collections.abc import Iterator
from pathlib import Path

from openwork.base.cache import find_cache
from openwork.base.compression import ENDINGS

VARIABLE = "OPENWORK_DATA"


def find_file(corpus: str, name: str, folder: Path | None = None) -> Path | None:
    """The file `name` of the folder of a corpus, compressed or not; None if it lies nowhere.

    `folder` comes before OPENWORK_DATA, and that before the cache. Each may be the corpus's own folder or the one above
    it; OPENWORK_DATA only if it bears the corpus's name, for it may hold files of others under the same names.
    """
    for place in _places(corpus, folder):
        for ending in ("", *ENDINGS):
            candidate = place / f"{name}{ending}"
            if _is_file(candidate):
                return candidate
    return None


def find_folder(corpus: str, names: list[str], folder: Path | None = None) -> str:
    """The folder of the first of these files if all of them are there; else nothing."""
    files = [find_file(corpus, name, folder) for name in names]
    return str(files[0].parent) if files[0] is not None and None not in files else ""


def _is_file(path: Path) -> bool:
    """Whether there is a file that can be reached: one in a folder that may not be searched cannot."""
    try:
        return path.is_file()
    except OSError:
        return False


def _places(corpus: str, folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder / corpus
        yield folder
    if variable := os.environ.get(VARIABLE):
        root = Path(variable)
        yield root / corpus
        if root.name == corpus:
            yield root
    if cache := find_cache(corpus):
        yield cache
