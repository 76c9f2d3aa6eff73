"""openwork translate --source FILE: a document that keeps its form"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from openwork.base.errors import UsageError
from openwork.cli.progress import progress
from openwork.cli.terminal import print_result


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
                raise UsageError(f"{name} is for a document", hint="add --source FILE --out FILE", code="U161")
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
                code="U162",
            )


def translate_file(translator: Any, bundle: Any, lines: Any, folders: Any, options: DocumentOptions) -> None:
    """Translates a document and says what was done. DataError for a document that cannot be read."""
    from openwork.base.files import atomic_write_bytes
    from openwork.data.glossary import Glossary, read_glossary
    from openwork.data.records import Languages
    from openwork.documents.catalogue import read_document
    from openwork.documents.document import DocumentSettings
    from openwork.inference.documents.local import LocalTranslator
    from openwork.inference.documents.memory import read_memory
    from openwork.inference.documents.translating import TranslatingOptions, translate_document

    if folders.out.exists() and folders.out.samefile(folders.source):
        raise UsageError(
            f"{folders.out}: the translation would replace its source",
            hint="give --out another name",
            code="U163",
        )
    source, target = bundle.settings.source_language, bundle.settings.target_language
    document = read_document(folders.source, DocumentSettings(source, target, folders.column))
    memory = read_memory(options.memory or (), Languages(source, target))
    glossary = read_glossary(lines.terms) if lines.terms is not None else Glossary([])
    content, done = translate_document(
        document,
        LocalTranslator(translator, bundle, guard=lines.guard),
        TranslatingOptions(
            source, target, memory, glossary, options.only_untranslated, lambda count: progress(count, "sentences")
        ),
    )
    atomic_write_bytes(folders.out, content)
    print_result(done.to_json, done.lines, as_json=lines.as_json)
