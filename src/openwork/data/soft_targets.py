"""The probabilities of a teacher for the target tokens of a store, on disk: of each token the most probable ones.

A folder of `header.json`, `ids` and `probabilities`, two matrices (tokens, top) whose rows follow the store: the tokens
of its first target with the end symbol, then those of the next. A stopped writing goes on where it was.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openwork.base.files import atomic_write_text, sha256_file
from openwork.base.regular_files import read_regular
from openwork.data.batching import gather
from openwork.data.store import TokenSide, TokenStore

FORMAT, VERSION = "openwork soft targets", 1
HEADER, IDS, PROBABILITIES = "header.json", "ids", "probabilities"
MOST_HEADER = 1 << 20  # bytes
ROWS = 2048  # targets that are written together

Top = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Ids and probabilities (tokens, top); the probabilities of a token add up to 1."""


@dataclass(frozen=True)
class SoftTargets:
    """The opened folder. `starts`: the row of each target's first token, and the end."""

    ids: NDArray[Any]
    probabilities: NDArray[np.float16]
    starts: NDArray[np.int64]

    def of(self, rows: NDArray[np.integer]) -> Top:
        """Those of the targets at these rows of the store, one after another."""
        ids, probabilities = (gather(TokenSide(kept, self.starts), rows)[0] for kept in (self.ids, self.probabilities))
        return ids.astype(np.int64), probabilities.astype(np.float32)


def soft_targets(
    folder: Path,
    store: TokenStore,
    top: int,
    fingerprint: str,
    compute: Callable[[NDArray[np.int64]], Top],
    advanced: Callable[[int], None] = lambda count: None,
) -> SoftTargets:
    """Those of a store, computed as far as they are not in the folder.

    `compute` gives those of some rows. What was made of another store or by other teachers, whom the `fingerprint`
    tells from these, is made again; so is what was changed since.
    """
    dtype = np.dtype("<u2" if store.vocabulary_size < 1 << 16 else "<u4")
    starts = store.target.offsets + np.arange(len(store) + 1)  # each target has an end symbol more
    made_of = {"format": FORMAT, "version": VERSION, "top": top, "store": store.fingerprint, "teachers": fingerprint}
    header = _read_header(folder)
    if {key: header.get(key) for key in made_of} != made_of:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (HEADER, IDS, PROBABILITIES):
            (folder / name).unlink(missing_ok=True)
        _write_header(folder, made_of)
    sizes = {IDS: top * dtype.itemsize, PROBABILITIES: top * 2}
    if sums := header.get("sha256"):
        if all(_size(folder / name) == size * starts[-1] for name, size in sizes.items()) and sums == _sums(folder):
            return _opened(folder, dtype, top, starts)
        for name in (IDS, PROBABILITIES):
            (folder / name).unlink(missing_ok=True)
    done = _finished_rows(folder, sizes, starts)
    advanced(done)
    with (folder / IDS).open("ab") as ids, (folder / PROBABILITIES).open("ab") as probabilities:
        for rows in _chunks(done, len(store)):
            found = compute(rows)
            ids.write(found[0].astype(dtype).tobytes())
            probabilities.write(found[1].astype(np.float16).tobytes())
            for file in (ids, probabilities):
                file.flush()
            advanced(len(rows))
    _write_header(folder, {**made_of, "sha256": _sums(folder)})
    return _opened(folder, dtype, top, starts)


def _chunks(first: int, end: int) -> Iterator[NDArray[np.int64]]:
    for start in range(first, end, ROWS):
        yield np.arange(start, min(start + ROWS, end))


def _finished_rows(folder: Path, sizes: dict[str, int], starts: NDArray[np.int64]) -> int:
    """How many targets are there whole in both files, which are cut off after them."""
    tokens = min(_size(folder / name) // size for name, size in sizes.items())
    done = int(np.searchsorted(starts, tokens, side="right")) - 1
    for name, size in sizes.items():
        if (folder / name).exists():
            os.truncate(folder / name, int(starts[done]) * size)
    return done


def _sums(folder: Path) -> dict[str, str]:
    return {name: sha256_file(folder / name) for name in (IDS, PROBABILITIES)}


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _opened(folder: Path, dtype: np.dtype, top: int, starts: NDArray[np.int64]) -> SoftTargets:
    ids, probabilities = (
        np.memmap(folder / name, kind, mode="r").reshape(-1, top)
        for name, kind in ((IDS, dtype), (PROBABILITIES, np.dtype("<f2")))
    )
    return SoftTargets(np.asarray(ids), np.asarray(probabilities), starts)


def _read_header(folder: Path) -> dict[str, Any]:
    try:
        header = json.loads(read_regular(folder / HEADER, MOST_HEADER))
    except (OSError, ValueError, RecursionError):  # none, or a damaged one
        return {}
    return header if isinstance(header, dict) else {}


def _write_header(folder: Path, content: dict[str, Any]) -> None:
    atomic_write_text(folder / HEADER, json.dumps(content, indent=1) + "\n")
