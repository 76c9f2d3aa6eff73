"""The user's cache folder, for downloads and compiled code."""

import os
from pathlib import Path

from openwork.base.errors import OpenworkError

VARIABLE = "XDG_CACHE_HOME"


def find_cache(name: str) -> Path | None:
    """The folder of that name in the user's cache, which may not exist yet; None where there is no cache.

    There is none for a user without a home, as in containers, and where the folder is not accessible.
    """
    root = os.environ.get(VARIABLE)
    try:
        folder = (Path(root) if root else Path.home() / ".cache") / "openwork" / name
    except RuntimeError:
        return None
    try:
        os.stat(f"{folder}/.")  # fails as the opening of a file in the folder would
    except FileNotFoundError:
        return folder
    except OSError:
        return None
    return folder


def need_cache(name: str) -> Path:
    """The folder of that name in the user's cache; OpenworkError where there is no cache."""
    folder = find_cache(name)
    if folder is None:
        raise OpenworkError(
            "there is no folder to keep downloads in",
            why="this user has no home, or the cache in it may not be searched",
            hint=f"set {VARIABLE} to a folder that you may write",
            code="E031",
        )
    return folder
