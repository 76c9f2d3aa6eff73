"""Sources that are files: a folder with a subfolder for each class, or a CSV file of paths and targets.

A pair is the path of a picture and its label, or that of a sound and its text; a question follows the path after a tab
(`signals/questions.py`). The files themselves are read later (`signals`).
"""

import csv
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import DataError
from openwork.base.files import read_lines, sha256_file
from openwork.base.messages import msg
from openwork.data.records import Pair, Skipped
from openwork.signals import pictures, sounds
from openwork.signals.questions import file_of


@dataclass(frozen=True)
class FileKind:
    """Files of one kind: what they are called, how their names end, and the column of their targets in a CSV file.

    `targets`: the names that this column may have, the usual one first.
    """

    name: str
    endings: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def target(self) -> str:
        return self.targets[0]

    @property
    def example(self) -> str:
        """The path of one within a folder, whose target is cat."""
        return f"cat/1{self.endings[0]}"


PICTURES = FileKind(msg("picture files"), pictures.ENDINGS, ("label", "text"))
SOUNDS = FileKind(msg("sound files"), sounds.ENDINGS, ("text",))


def read_list(path: Path, kind: FileKind) -> Iterator[Pair | Skipped]:
    """The files of a folder or CSV file, with what is passed over. DataError for a path that is neither."""
    if path.is_dir():
        return _of_folder(path, kind)
    if path.is_file():
        return _of_table(path, kind)
    raise DataError(
        f"{path}: no such folder of {kind.name}",
        hint=f"name a folder with a subfolder for each class, or a CSV file with the columns file and {kind.target}",
        code="D147",
    )


def _of_folder(path: Path, kind: FileKind) -> Iterator[Pair | Skipped]:
    """Class by class in the order of their names; DataError for a folder without subfolders of such files."""
    number, found = 0, False
    for folder in sorted(_listed(path)):
        if not folder.is_dir():
            continue
        for file in sorted(_listed(folder)):
            number += 1
            if not file.name.lower().endswith(kind.endings):
                yield Skipped(msg(f"the name of no known format of {kind.name}"), number)
            elif not str(file).isprintable():
                yield Skipped(msg("a name with characters that cannot be printed"), number)
            else:
                found = True
                yield Pair(str(file), folder.name)
    if not found:
        raise DataError(
            f"{path}: no {kind.name} in its subfolders",
            why="there must be a subfolder for each class, whose name is the target",
            hint=f"give it files such as {path}/{kind.example}, with one of the endings {', '.join(kind.endings)}",
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


def _of_table(path: Path, kind: FileKind) -> Iterator[Pair]:
    """Line by line; paths are relative to the folder of the table. DataError names the line that is wrong.

    The column question may be there, besides file and target.
    """
    rows, columns = csv.reader(read_lines(path), strict=True), ["file", kind.target]

    def wrong(line: int, why: str) -> DataError:
        return DataError(
            f"{path}:{line}: not a table of {kind.name}",
            why=why,
            hint=f"write the columns {','.join(columns)} in the first line, then a file a line, such as "
            f"{kind.example},cat",
            code="D150",
        )

    try:
        header = [name.strip() for name in next(rows, [])]
        columns[1] = next((name for name in kind.targets if name in header), kind.target)
        if any(header.count(name) != 1 for name in columns) or header.count("question") > 1:
            raise wrong(1, msg(f"its first line has not the columns {' and '.join(columns)}, each once"))
        places = [header.index(name) for name in columns]
        question = header.index("question") if "question" in header else None
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise wrong(rows.line_num, msg(f"{len(row)} columns, the first line names {len(header)}"))
            name, target = (row[place].strip() for place in places)
            file = path.parent / name
            if not name or not file.is_file():
                raise wrong(rows.line_num, msg(f"there is no file {file}"))
            yield Pair(str(file) if question is None else f"{file}\t{row[question].strip()}", target)
    except csv.Error as error:
        raise wrong(rows.line_num, str(error)) from error


def digest_of(pairs: Iterable[Pair | Skipped]) -> str:
    """The SHA-256 of the files' contents in their order. Their paths and targets are not in it."""
    digest = hashlib.sha256()
    for pair in pairs:
        if isinstance(pair, Pair):
            digest.update(sha256_file(file_of(pair.source)).encode())
    return digest.hexdigest()
