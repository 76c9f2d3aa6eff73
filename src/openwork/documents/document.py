"""What every format gives: the texts of a file, and the file with their translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from openwork.base.errors import DataError
from openwork.base.files import open_binary
from openwork.documents.segments import Parts, TranslationUnit

MOST_BYTES = 64 << 20  # of a document, and of what is unpacked of one


@dataclass(frozen=True)
class DocumentSettings:
    """Languages of a document and of its translation, where they are known, and the column of tables that is text."""

    source: str | None = None
    target: str | None = None
    column: str | None = None


class Document(Protocol):
    """A document that was read. What is not among its segments stays as it is."""

    @property
    def segments(self) -> Sequence[TranslationUnit]:
        """The texts to translate, in the order of the document."""
        ...

    def written(self, translations: Sequence[Parts | None]) -> bytes:
        """The document with a translation for each segment.

        Each has the marks of its segment, each once and well-formed. None: the segment stays as it is, and where a
        format has states, its translation is not final.
        """
        ...


class ReadDocument(Protocol):
    """Reads the bytes of a file; `path` is its name, for errors. DataError for what is no such document."""

    def __call__(self, content: bytes, path: Path, settings: DocumentSettings) -> Document: ...


def read_content(path: Path) -> bytes:
    """The bytes of a document. DataError for a missing or unreadable file, and for one that is too large."""
    with open_binary(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise too_large(path)
    return content


def too_large(path: Path) -> DataError:
    """The error for a document of more than `MOST_BYTES`."""
    return DataError(
        f"{path}: the document is too large",
        why=f"more than {MOST_BYTES >> 20} MB",
        hint="cut it into parts",
        code="D168",
    )


def decoded(content: bytes, path: Path) -> str:
    """The text of a document in UTF-8; its line ends stay. DataError names the line of a byte that is none."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}:{line}: the document is not UTF-8",
            why=f"byte {content[error.start]:#04x}",
            hint="save it as UTF-8; `iconv -f latin1 -t utf-8 FILE > NEW` converts it",
            code="D169",
        ) from error
