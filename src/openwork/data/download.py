"""Fetching a small public file: bounded, checked, whole or not at all."""

import hashlib
import http.client
import urllib.request
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import atomic_write_bytes

MAX_BYTES = 64 << 20
_TIMEOUT_SECONDS = 20


def fetch(url: str, path: Path, *, sha256: str, hint: str) -> None:
    """Put what lies at `url` into `path` once its SHA-256 is right.

    `DataError` when there is no network, the server refuses, or the bytes are others; `hint` is what to do then.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
            data = response.read(MAX_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:  # URLError and timeouts are OSErrors
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: cannot be fetched", why=str(reason) or type(error).__name__, hint=hint) from error
    if len(data) > MAX_BYTES or hashlib.sha256(data).hexdigest() != sha256:
        raise DataError(
            f"{url}: what came is not the file that was expected",
            why="its SHA-256 differs: the origin has changed, or something between here and there has",
            hint=hint,
        )
    atomic_write_bytes(path, data)
