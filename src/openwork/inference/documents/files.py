"""Files of documents: read, translated and written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import UsageError
from openwork.base.files import atomic_write_bytes
from openwork.data.glossary import Glossary, read_glossary
from openwork.data.records import Languages
from openwork.documents.catalogue import read_document
from openwork.documents.document import DocumentSettings
from openwork.inference.documents.memory import read_memory
from openwork.inference.documents.report import DocumentReport
from openwork.inference.documents.translating import (
    OnStart,
    SentenceTranslator,
    TranslatingOptions,
    translate_document,
    without_progress,
)


@dataclass(frozen=True)
class FileOptions:
    """How a file is translated.

    Attributes:
        languages: of the document and of its translation, where they are known.
        memory: files with known translations.
        terms: a glossary.
        column: of a table, where it is not called text or source.
        only_untranslated: whether texts that have a translation stay as they are.
    """

    languages: Languages
    memory: Sequence[Path] = ()
    terms: Path | None = None
    column: str | None = None
    only_untranslated: bool = False


def translate_file(
    source: Path, out: Path, translator: SentenceTranslator, options: FileOptions, progress: OnStart = without_progress
) -> DocumentReport:
    """Writes the translation of a document, in its own format. `progress` gets the number of sentences.

    DataError for a document, memory or glossary that cannot be read, UsageError where `out` is there already.
    """
    if out.exists() or out.is_symlink():
        raise UsageError(
            f"{out}: there is something of this name already",
            why="a translation replaces no file",
            hint="give --out another name, or remove it",
            code="U150",
        )
    document = read_document(source, DocumentSettings(*options.languages, options.column))
    content, report = translate_document(
        document,
        translator,
        TranslatingOptions(
            *options.languages,
            read_memory(options.memory, options.languages),
            Glossary([]) if options.terms is None else read_glossary(options.terms),
            options.only_untranslated,
            progress,
        ),
    )
    atomic_write_bytes(out, content)
    return report
