"""Labelled pictures: a folder with a subfolder for each class, or a CSV file with the columns file and label.

A pair is the path of a picture and its label. The pictures themselves are read later (`signals/pictures.py`).
"""

import csv
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines, sha256_file
from openwork.base.messages import msg
from openwork.data.records import Pair, Skipped
from openwork.signals.pictures import ENDINGS

COLUMNS = ("file", "label")


def read_pictures(path: Path) -> Iterator[Pair | Skipped]:
    """The pictures of a folder or CSV file, with what is passed over. DataError for a path that is neither."""
    if path.is_dir():
        return _of_folder(path)
    if path.is_file():
        return _of_table(path)
    raise DataError(
        f"{path}: no such folder of pictures",
        hint="name a folder with a subfolder for each class, or a CSV file with the columns file and label",
        code="D147",
    )


def _of_folder(path: Path) -> Iterator[Pair | Skipped]:
    """Class by class in the order of their names; DataError for a folder without subfolders of pictures."""
    number, found = 0, False
    for folder in sorted(_listed(path)):
        if not folder.is_dir():
            continue
        for file in sorted(_listed(folder)):
            number += 1
            if not file.name.lower().endswith(ENDINGS):
                yield Skipped(msg("the name of no known format of pictures"), number)
            elif not str(file).isprintable():
                yield Skipped(msg("a name with characters that cannot be printed"), number)
            else:
                found = True
                yield Pair(str(file), folder.name)
    if not found:
        raise DataError(
            f"{path}: no pictures in its subfolders",
            why="a folder of pictures has a subfolder for each class, whose name is the label",
            hint=f"give it pictures such as {path}/cat/1.png, with one of the endings {', '.join(ENDINGS)}",
            code="D148",
        )


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise DataError(
            f"{folder}: the folder cannot be read",
            why=error.strerror or str(error),
            hint="check that you may read it",
            code="D149",
        ) from error


def _of_table(path: Path) -> Iterator[Pair]:
    """Line by line; paths are relative to the folder of the table. DataError names the line that is wrong."""
    rows = csv.reader(read_lines(path), strict=True)
    try:
        header = [name.strip() for name in next(rows, [])]
        if any(header.count(name) != 1 for name in COLUMNS):
            raise _wrong(path, 1, msg("its first line has not the columns file and label, each once"))
        places = [header.index(name) for name in COLUMNS]
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise _wrong(path, rows.line_num, msg(f"{len(row)} columns, the first line names {len(header)}"))
            name, label = (row[place].strip() for place in places)
            file = path.parent / name
            if not name or not file.is_file():
                raise _wrong(path, rows.line_num, msg(f"there is no file {file}"))
            yield Pair(str(file), label)
    except csv.Error as error:
        raise _wrong(path, rows.line_num, str(error)) from error


def _wrong(path: Path, line: int, why: str) -> DataError:
    return DataError(
        f"{path}:{line}: not a table of pictures",
        why=why,
        hint="write the columns file,label in the first line, then a picture a line, such as cats/1.png,cat",
        code="D150",
    )


def digest_of(pairs: Iterable[Pair | Skipped]) -> str:
    """The SHA-256 of the pictures' contents in their order. Their paths and labels are not in it."""
    digest = hashlib.sha256()
    for pair in pairs:
        if isinstance(pair, Pair):
            digest.update(sha256_file(pair.source).encode())
    return digest.hexdigest()
