"""ZIP archives of office documents, from untrusted files: read within bounds, and written with some entries changed.

Nothing is ever unpacked to a disk.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from openwork.base.errors import DataError
from openwork.base.messages import msg
from openwork.documents.document import MOST_BYTES

MOST_ENTRIES = 10_000
MOST_UNPACKED = 4 * MOST_BYTES  # bytes of all entries
LARGEST_RATIO = 200  # of unpacked bytes to those of the file, beyond `_FREE` bytes
_FREE = 8 << 20
_ENCRYPTED = 1  # a flag of an entry
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those of the Open Packaging Conventions
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"  # a compound file


@dataclass(frozen=True)
class Archive:
    """The entries of an archive in their order, each with its content."""

    entries: tuple[tuple[zipfile.ZipInfo, bytes], ...]
    comment: bytes

    def named(self, name: str) -> bytes | None:
        """The content of an entry."""
        return next((content for info, content in self.entries if info.filename == name), None)

    def written(self, changed: Mapping[str, bytes]) -> bytes:
        """The archive with other contents of some entries. The others have the content, name and time that they had."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as file:
            file.comment = self.comment
            for info, content in self.entries:
                file.writestr(copy(info), changed.get(info.filename, content), info.compress_type)
        return packed.getvalue()


def read_archive(content: bytes, path: Path) -> Archive:
    """All entries. DataError for what is no archive, is damaged or encrypted, and for what unpacks to too much."""
    if content.startswith(_OLD_OFFICE):
        raise not_office_document(path, msg("it is encrypted, or in the format of Word before 2007"))
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            infos = file.infolist()
            _check(infos, len(content), path)
            return Archive(tuple((info, file.read(info)) for info in infos), file.comment)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise not_office_document(path, str(error)) from error


def _check(infos: list[zipfile.ZipInfo], size: int, path: Path) -> None:
    """Sizes are those that the archive says; no entry gives more bytes than that when it is read."""
    unpacked = sum(info.file_size for info in infos)
    if len(infos) > MOST_ENTRIES or unpacked > min(MOST_UNPACKED, _FREE + LARGEST_RATIO * size):
        raise DataError(
            f"{path}: the document unpacks to too much",
            why=f"{len(infos):,} entries, {unpacked:,} bytes",
            hint="check that the file is what its name says, or cut it into parts",
            code="D179",
        )
    if len({info.filename for info in infos}) < len(infos):
        raise not_office_document(path, msg("two entries have the same name"))
    for info in infos:
        if info.filename.startswith(("/", "\\")) or ".." in PurePosixPath(info.filename.replace("\\", "/")).parts:
            raise not_office_document(path, msg(f"the name of an entry leads out of the archive: {info.filename!r}"))
        if info.flag_bits & _ENCRYPTED:
            raise not_office_document(path, msg("it is encrypted"))
        if info.compress_type not in _METHODS:
            raise not_office_document(path, msg(f"an entry has the unknown compression {info.compress_type}"))


def not_office_document(path: Path, why: str) -> DataError:
    """The error for what is no office document that can be read."""
    return DataError(
        f"{path}: the document cannot be opened",
        why=why,
        hint="open it in a word processor, and save it as .docx without a password",
        code="D178",
    )
