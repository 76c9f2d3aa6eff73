"""openwork translate and openwork shortlist"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.options import (
    NAME_ONE,
    Bundle,
    DecodingOptions,
    NamesBundle,
    check_streaming,
    given,
    settings_for_streaming,
    settings_with_options,
)
from openwork.cli.terminal import report
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
    as_json: Annotated[bool, Option("--json", help="One JSON object a line, with scores.")] = False
    precision: Annotated[
        TranslationPrecision | None,
        Option(help="Number type of the matrix products; auto: the fastest on this machine."),
    ] = None
    shortlist: Annotated[Path | None, Option(help="A file of openwork shortlist: search only its pieces.")] = None


def _check(lines: Any) -> None:
    """UsageError for options that do not go together."""
    others = {
        "--alternatives": lines.alternatives is not None,
        "--json": lines.as_json,
        "--terms": lines.terms,
        "--guard": lines.guard,
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
    searching: DecodingOptions,
) -> None:
    """Translate standard input, line for line.

    echo 'Ein Hund.' | openwork translate de-en

    openwork translate de-en < in.txt > out.txt

    openwork translate --settings careful.toml < in.txt > out.txt
    """
    from openwork.inference.settings import TranslationFile, read_translation_file

    file = read_translation_file(settings) if settings is not None else TranslationFile()
    asked = file.lines.model_copy(update=given(lines))
    _check(asked)
    chosen = given(searching)
    options = {**file.decoding, **chosen}
    origins = {key: file.origins[key] for key in file.origins if key.removeprefix("decoding.") not in chosen}
    count = options.pop("best", ALTERNATIVES) if asked.alternatives is not None else ALTERNATIVES

    from openwork.data.glossary import read_glossary
    from openwork.inference.filters.lines import (
        OutputFormat,
        alternatives_filter,
        answer_stream,
        streaming_filter,
        translation_filter,
        with_terms,
    )
    from openwork.inference.guard import GuardedTranslator, usual_texts
    from openwork.inference.loading import load_bundles, translator_of
    from openwork.inference.requests import read_json, read_text
    from openwork.runs.usable import usable_bundle

    read = read_json if asked.requests else read_text
    if asked.terms is not None:
        read = with_terms(read, read_glossary(asked.terms))
    bundles = load_bundles([usable_bundle(Path(bundle)) for bundle in asked.bundle])
    settle = settings_for_streaming if asked.stream else settings_with_options
    decoding = settle(bundles[0].settings.decoding, options, origins)
    translator = translator_of(bundles, decoding, asked.precision, asked.shortlist)
    output = OutputFormat(decoding.best, asked.as_json)
    if asked.stream:
        lines_filter = streaming_filter(translator)
    elif asked.alternatives is not None:
        lines_filter = alternatives_filter(translator, output, asked.alternatives, count)
    else:
        guarded = GuardedTranslator(translator, usual_texts(bundles[0])) if asked.guard else translator
        lines_filter = translation_filter(guarded, output)
    answer_stream(lines_filter, report, read=read)


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
