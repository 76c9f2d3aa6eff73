"""Which format a document has: by the ending of its name."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from openwork.base.errors import DataError
from openwork.documents.document import Document, DocumentSettings, ReadDocument, read_content

# Ending -> the module within `formats`, and its function.
FORMATS: Mapping[str, tuple[str, str]] = {
    ".txt": ("plain", "read_plain"),
    ".md": ("markdown", "read_markdown"),
    ".markdown": ("markdown", "read_markdown"),
    ".html": ("html", "read_html"),
    ".htm": ("html", "read_html"),
    ".xhtml": ("html", "read_html"),
    ".xlf": ("xliff", "read_xliff"),
    ".xliff": ("xliff", "read_xliff"),
    ".tmx": ("tmx", "read_tmx"),
    ".po": ("po", "read_po"),
    ".pot": ("po", "read_po"),
    ".srt": ("subtitles", "read_srt"),
    ".vtt": ("subtitles", "read_vtt"),
    ".jsonl": ("records", "read_jsonl"),
    ".csv": ("records", "read_csv"),
    ".tsv": ("records", "read_tsv"),
    ".docx": ("docx", "read_docx"),
}


def format_of(path: Path) -> ReadDocument:
    """The reader for a document's ending. DataError for an ending that is not known."""
    found = FORMATS.get(path.suffix.lower())
    if found is None:
        raise DataError(
            f"{path}: what kind of document is this?",
            why=f"the ending {path.suffix!r} is none of {', '.join(sorted(FORMATS))}",
            hint="give the file the ending of its format, such as .txt",
            code="D170",
        )
    module, function = found
    return getattr(import_module(f"openwork.documents.formats.{module}"), function)


def read_document(path: Path, settings: DocumentSettings) -> Document:
    """The document of a file. DataError for a file that is missing, too large, damaged or of an unknown kind."""
    return format_of(path)(read_content(path), path, settings)
