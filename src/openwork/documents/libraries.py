"""Libraries of the extra `documents`, and what is said where one is missing."""

from importlib.util import find_spec
from pathlib import Path

from openwork.base.errors import DataError


def need(library: str, path: Path) -> None:
    """DataError unless a library that reads this kind of document is installed."""
    if find_spec(library) is None:
        raise DataError(
            f"{path}: this kind of document needs {library}, which is not installed",
            hint=f"pip install {library} (the extra documents)",
            code="D172",
        )
