"""openwork translate and openwork shortlist"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from openwork.base.collection import no_collection
from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.documents import DocumentOptions, names_document, translate_document
from openwork.cli.options import (
    NAME_ONE,
    Bundle,
    DecodingOptions,
    NamesBundle,
    RayOptions,
    check_streaming,
    given,
    settings_for_streaming,
    settings_with_options,
)
from openwork.cli.progress import progress
from openwork.cli.remote import ServerChoice, translate_lines
from openwork.cli.terminal import print_result, report
from openwork.inference.settings import TranslationPrecision


@dataclass(frozen=True)
class LineOptions:
    """Bundles, and the form of input and output lines."""

    bundle: Annotated[list[Path] | None, NamesBundle("What openwork train --out wrote; several: an ensemble.")] = None
    terms: Annotated[Path | None, Option(help="A glossary: source term, tab, required target term.")] = None
    requests: Annotated[bool, Option(help='Lines are JSON: "text", "prefix", "required", "forbidden".')] = False
    alternatives: Annotated[
        int | None,
        Option(min=0, max=LENGTH, help="Show --best alternatives for the piece after this many pieces."),
    ] = None
    guard: Annotated[bool, Option(help="Flag unreliable translations, and search for them again.")] = False
    stream: Annotated[bool, Option(help="Write each piece as soon as it is found.")] = False
    as_json: Annotated[
        bool, Option("--json", help="One JSON object a line, with scores; of a folder, the report too.")
    ] = False
    precision: Annotated[
        TranslationPrecision | None,
        Option(help="Number type of the matrix products; auto: the fastest on this machine."),
    ] = None
    shortlist: Annotated[Path | None, Option(help="A file of openwork shortlist: search only its pieces.")] = None
    draft: Annotated[
        Path | None, Option(help="With --beam 1: a small bundle of the same vocabulary, which proposes pieces.")
    ] = None


@dataclass(frozen=True)
class FolderOptions:
    """A document, or a folder of shards, in place of standard input and output."""

    source: Annotated[
        Path | None,
        Option(help="A document, or a folder of files (text, .gz, .xz, Parquet), instead of standard input."),
    ] = None
    out: Annotated[Path | None, Option("--out", "-o", help="With --source: the document or folder to write.")] = None
    column: Annotated[str | None, Option(help="Column of tables to translate; else text or source.")] = None


def _check_folders(folders: FolderOptions, ray: RayOptions) -> None:
    """UsageError for a folder without the other, or for options of folders without them."""
    if (folders.source is None) != (folders.out is None):
        raise UsageError(
            "--source and --out go together",
            why="they name what is translated, and where the translation is written",
            hint="give both, or neither: openwork translate BUNDLE < FILE > FILE",
            code="U104",
        )
    for name, is_given in (("--column", folders.column is not None), ("--on", ray.on is not None)):
        if folders.source is None and is_given:
            raise UsageError(f"{name} needs folders of shards", hint="add --source FOLDER --out FOLDER", code="U105")
    ray.check()


def _check(lines: Any, *, is_bulk: bool) -> None:
    """UsageError for options that do not go together."""
    others = {
        "--alternatives": lines.alternatives is not None,
        "--json": lines.as_json,
        "--terms": lines.terms,
        "--guard": lines.guard,
        "--source": is_bulk,
    }
    check_streaming(name for name, is_given in others.items() if lines.stream and is_given)
    if lines.guard and lines.alternatives is not None:
        raise UsageError("--guard does not go with --alternatives", hint="leave one of them out", code="U031")
    if not lines.bundle:
        raise UsageError("no bundle was named", hint=NAME_ONE, code="U032")
    from openwork.bundles.folder import check_bundle

    for bundle in lines.bundle:
        check_bundle(Path(bundle))


ALTERNATIVES = 5  # shown without --best


def translate(
    *,
    lines: LineOptions,
    settings: Annotated[
        Path | None, Option(help="A file with these options; see openwork config schema translation.")
    ] = None,
    folders: FolderOptions,
    ray: RayOptions,
    searching: DecodingOptions,
    documents: DocumentOptions,
    choice: ServerChoice,
) -> None:
    """Translate standard input, or a folder of files, line for line; or a document.

    echo 'Ein Hund.' | openwork translate de-en

    openwork translate de-en < in.txt > out.txt

    openwork translate --settings careful.toml < in.txt > out.txt

    openwork translate --server http://127.0.0.1:5000 < in.txt > out.txt

    A folder: each file becomes one of the same name. After an interruption the same command continues.

    openwork translate de-en --source shards --out translated

    openwork translate de-en --source shards --out translated --on ray

    A document keeps its form: text, Markdown, HTML, XLIFF, TMX, PO, SRT, VTT, CSV, JSON lines, DOCX.

    openwork translate de-en --source page.html --out seite.html
    """
    choice.check(given(lines, folders, ray, searching, documents) | ({"settings": settings} if settings else {}))
    if choice.server is not None:
        _translate_by_server(choice, lines, folders, documents, given(searching).get("best", 1))
        return
    from openwork.inference.settings import TranslationFile, read_translation_file

    _check_folders(folders, ray)
    file = read_translation_file(settings) if settings is not None else TranslationFile()
    asked = file.lines.model_copy(update=given(lines))
    is_document = folders.source is not None and names_document(folders.source)
    documents.check(asked, given(ray, searching), is_document=is_document)
    _check(asked, is_bulk=folders.source is not None)
    chosen = given(searching)
    options = {**file.decoding, **chosen}
    origins = {key: file.origins[key] for key in file.origins if key.removeprefix("decoding.") not in chosen}
    count = options.pop("best", ALTERNATIVES) if asked.alternatives is not None else ALTERNATIVES

    with no_collection():
        from openwork.inference.filters.lines import answer_stream, filter_for, reader_for, streaming_filter
        from openwork.inference.loading import load_bundles, translator_of
        from openwork.runs.usable import usable_bundle

    read = reader_for(asked)
    paths = [usable_bundle(Path(bundle)) for bundle in asked.bundle]
    bundles = load_bundles(paths)
    settle = settings_for_streaming if asked.stream else settings_with_options
    decoding = settle(bundles[0].settings.decoding, options, origins)
    draft = None if asked.draft is None else usable_bundle(asked.draft)
    if is_document:
        translator = translator_of(bundles, decoding, asked.precision, asked.shortlist, draft)
        from openwork.inference.documents.local import LocalTranslator

        languages = bundles[0].settings.source_language, bundles[0].settings.target_language
        sentences = LocalTranslator(translator, bundles[0], guard=asked.guard)
        translate_document(sentences, languages, asked, folders, documents)
        return
    if folders.source is not None:
        from openwork.inference.bulk.plan import TranslationPlan

        _translate_folder(TranslationPlan.of(paths, asked, decoding, count), bundles, folders, ray.pool())
        return
    translator = translator_of(bundles, decoding, asked.precision, asked.shortlist, draft)
    lines_filter = streaming_filter(translator) if asked.stream else filter_for(translator, bundles[0], asked, count)
    answer_stream(lines_filter, report, read=read)


def _translate_by_server(
    choice: ServerChoice, lines: LineOptions, folders: FolderOptions, documents: DocumentOptions, best: int
) -> None:
    client = choice.client(lines.bundle)
    if folders.source is None and folders.out is None:
        translate_lines(client, lines, best)
        return
    _check_folders(folders, RayOptions())
    assert folders.source is not None
    if not names_document(folders.source):
        raise UsageError(
            f"{folders.source}: a server translates no folders of files",
            hint="leave --server out, or give one document as --source",
            code="U151",
        )
    from openwork.serving.client.sentences import SentencesByServer

    translate_document(SentencesByServer(client), client.languages(), lines, folders, documents)


def _translate_folder(plan: Any, bundles: Any, folders: FolderOptions, pool: Any) -> None:
    """Translates a folder of shards and prints the report. DataError if a shard has failed."""
    from openwork.inference.bulk.record import open_record
    from openwork.inference.bulk.run import translate_shards
    from openwork.inference.bulk.shards import find_shards
    from openwork.machine.pool import OneProcess

    assert folders.source is not None and folders.out is not None
    found = find_shards(folders.source, folders.out, folders.column)
    for name in found.passed_over:
        report(f"{name}: no file, passed over")
    plan, made = plan.loaded(bundles)
    start = (lambda: made) if isinstance(pool, OneProcess) else plan.start
    with open_record(folders.out, plan.reads(folders.source)) as record:
        record.plan(plan.identity(folders.column), found.shards)
        with progress(len(found.shards), "shards") as advanced:
            done = translate_shards(found.shards, record, start, pool, report, advanced=advanced)
    print_result(done.to_json, done.lines, as_json=plan.lines.as_json)
    done.check()


def shortlist(
    bundle: Bundle,
    out: Annotated[Path, Option("--out", "-o", help="The file to write, for openwork translate --shortlist.")],
    source: Annotated[Path | None, Option(help="Source sentences, one a line (plain or gzip).")] = None,
    target: Annotated[Path | None, Option(help="Their translations, one a line.")] = None,
    corpus: Annotated[str | None, Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None,
    each: Annotated[int, Option(min=1, max=LENGTH, help="Target pieces for each source piece.")] = 16,
    common: Annotated[
        int, Option(min=0, max=LENGTH, help="Number of most frequent target pieces, which are always allowed.")
    ] = 100,
) -> None:
    """Learn a shortlist of pieces, which makes translation faster.

    openwork shortlist en-de --source train.en --target train.de --out en-de.shortlist

    openwork shortlist multi30k --corpus multi30k-en-de --out multi30k.shortlist

    openwork translate en-de --shortlist en-de.shortlist < in.txt > out.txt
    """
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.inference.shortlists import Sizes, write_shortlist

    write_shortlist(out, folder, source, target, corpus, Sizes(each, common), report)
    report(f"done: openwork translate --shortlist {out}")
