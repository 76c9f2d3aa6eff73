"""openwork translate --source FILE: a document that keeps its form"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from openwork.base.errors import UsageError
from openwork.cli.progress import progress
from openwork.cli.terminal import print_result

if TYPE_CHECKING:
    from openwork.inference.documents.translating import SentenceTranslator


@dataclass(frozen=True)
class DocumentOptions:
    """What is known of a document's texts already."""

    memory: Annotated[
        list[Path] | None,
        Option(help="Of a document: known translations (TMX, XLIFF, PO, TSV, JSON lines); repeatable."),
    ] = None
    only_untranslated: Annotated[
        bool, Option(help="Of a document (XLIFF, TMX, PO, tables): leave texts that have a translation.")
    ] = False

    def check(self, lines: Any, others: dict[str, Any], *, is_document: bool) -> None:
        """UsageError for options that do not go together with a document, or need one."""
        if not is_document:
            if self.memory or self.only_untranslated:
                name = "--memory" if self.memory else "--only-untranslated"
                raise UsageError(f"{name} is for a document", hint="add --source FILE --out FILE", code="U148")
            return
        refused = {
            "--requests": lines.requests,
            "--alternatives": lines.alternatives is not None,
            "--stream": lines.stream,
            "--best": others.get("best", 1) != 1,
            "--on": others.get("on") is not None,
        }
        name = next((name for name, is_given in refused.items() if is_given), None)
        if name is not None:
            raise UsageError(
                f"{name} does not go with a document",
                why="a document has one translation for each of its texts",
                hint=f"leave {name} out",
                code="U149",
            )


def names_document(path: Path) -> bool:
    """Whether a path is a file, or has the ending of a document where there is nothing."""
    from openwork.documents.catalogue import FORMATS

    return not path.is_dir() and (path.exists() or path.suffix.lower() in FORMATS)


def translate_document(
    translator: "SentenceTranslator",
    languages: tuple[str | None, str | None],
    lines: Any,
    folders: Any,
    options: DocumentOptions,
) -> None:
    """Translates a document and says what was done. DataError for a document that cannot be read."""
    from openwork.data.records import Languages
    from openwork.inference.documents.files import FileOptions, translate_file

    done = translate_file(
        folders.source,
        folders.out,
        translator,
        FileOptions(
            Languages(*languages), options.memory or (), lines.terms, folders.column, options.only_untranslated
        ),
        lambda count: progress(count, "sentences"),
    )
    print_result(done.to_json, done.lines, as_json=lines.as_json)
