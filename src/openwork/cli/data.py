"""openwork data list, prepare, stats, check, clean"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.base.printing import write_json
from openwork.cli.options import AsJson, RayOptions, as_command
from openwork.cli.terminal import print_result, report

app = typer.Typer(no_args_is_help=True, help="List, fetch, measure, check and clean corpora.")

SECONDS_BETWEEN_LINES = 5.0

Folder = Annotated[Path | None, Option(help="Folder of corpora, searched before OPENWORK_DATA.")]


@dataclass(frozen=True)
class CorpusFiles:
    """The files of a corpus that has no name."""

    source: Annotated[Path | None, Option(help="Source sentences, one a line.")] = None
    target: Annotated[Path | None, Option(help="Their translations, one a line.")] = None
    valid_source: Annotated[Path | None, Option(help="Held-out source sentences.")] = None
    valid_target: Annotated[Path | None, Option(help="Their translations.")] = None

    def splits(self) -> dict[str, tuple[Path | None, Path | None]]:
        return {"train": (self.source, self.target), "valid": (self.valid_source, self.valid_target)}


@app.command("list")
@as_command
def list_(folder: Folder = None, as_json: AsJson = False) -> None:
    """List the corpora that are known by name.

    Pairs, place, source and terms of each.

    openwork data list

    openwork data list --json
    """
    from openwork.data.corpora.catalogue import list_corpora, table_lines

    entries = list_corpora(folder)
    print_result(lambda: entries, lambda: table_lines(entries), as_json=as_json)


@app.command()
@as_command
def prepare(
    name: Annotated[str, Argument(help="A corpus, as openwork data list names it.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder for the text files; it is made.")],
    *,
    set_: Annotated[
        list[str] | None, Option("--set", help="A filter of the training pairs: filters.KEY=VALUE.")
    ] = None,
    folder: Folder = None,
    shards: Annotated[
        int | None,
        Option(min=1, max=LENGTH, help="With --on ray: parts of the training pairs that are written at once."),
    ] = None,
    ray: RayOptions,
    as_json: AsJson = False,
) -> None:
    """Write a corpus as plain text files, one sentence a line.

    Downloads what is not on this machine.

    After an interruption the same command continues.

    openwork data prepare multi30k-en-de --out data

    openwork data prepare dates --out data --set filters.maximum_ratio=2

    openwork data prepare wmt14-en-fr --out data --on ray --workers 4
    """
    from openwork.data.corpora.prepare import prepare as prepare_splits
    from openwork.data.statistics import filter_settings

    ray.check()
    if ray.on is None and shards is not None:
        raise UsageError("--shards goes with --on ray", hint="add --on ray, or leave --shards out", code="U106")
    splits = {}
    filters = filter_settings(set_ or [])
    options = {"folder": folder, "pool": ray.pool(), "shards": shards or ray.count()}
    for split in prepare_splits(name, out, filters, progress=_Progress(), **options):
        splits[split.name] = split.to_json()
        for reason, count in (split.left_out or {}).items():
            report(f"{split.name}: left out {count:,}: {reason}")
        if split.absent:
            report(f"{split.name}: not written: {split.absent}")
        elif split.kept:
            report(f"{split.name}: {split.pairs:,} pairs are there already")
        else:
            report(f"{split.name}: {split.pairs:,} pairs written to {split.files[0]} and {split.files[1]}")
    if as_json:
        write_json({"corpus": name, "out": str(out), "splits": splits})


@app.command()
@as_command
def stats(
    what: Annotated[str | None, Argument(help="A corpus, a file with both sides, or a run file (.toml).")] = None,
    *,
    files: CorpusFiles,
    set_: Annotated[list[str] | None, Option("--set", help="Such as data.tsv=FILE or filters.maximum_ratio=3.")] = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Measure a corpus: lengths and scripts.

    openwork data stats multi30k-en-de

    openwork data stats --source train.en --target train.de
    """
    from openwork.data.statistics import measure

    given = {key: str(path) for key, path in vars(files).items() if path is not None}
    if not what and not given and not set_:
        raise UsageError(
            "name what to measure", hint="give a corpus, a run file, or --source and --target", code="U006"
        )
    measured = measure(what, given, set_ or [], folder)
    print_result(measured.values, measured.lines, as_json=as_json)


@app.command()
@as_command
def check(
    *,
    corpus: Annotated[str | None, Argument(help="A corpus, as openwork data list names it.")] = None,
    files: CorpusFiles,
    languages: Annotated[
        str | None, Option(help="Such as en-de: also look for lines in another language (extra languages).")
    ] = None,
    html: Annotated[Path | None, Option(help="Also write the report as one HTML page.")] = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Find faults in a corpus: damaged text, copies, leaks.

    Also finds sides that do not match.

    openwork data check --source train.en --target train.de --valid-source valid.en --valid-target valid.de

    openwork data check multi30k-en-de --html report.html
    """
    from openwork.base.outputs import check_file, is_page
    from openwork.data.check.report import check as check_splits
    from openwork.data.check.report import read_splits, report_lines, report_values

    pair = _language_pair(languages)
    if html is not None:
        read = [path for sides in files.splits().values() for path in sides]
        check_file(html, is_page, read)
    checked = check_splits(read_splits(corpus, files.splits(), folder), pair, report)
    if html is not None:
        from openwork.base.files import atomic_write_text
        from openwork.base.messages import find_language
        from openwork.data.check.report import page_of

        atomic_write_text(html, page_of(checked, find_language(os.environ)))
    print_result(lambda: report_values(checked), lambda: report_lines(checked), as_json=as_json)


@dataclass(frozen=True)
class RuleOptions:
    """Which faults lose a pair its place."""

    drop: Annotated[list[str] | None, Option(help="Also leave out: escapes, not-nfc, invisible, spaces.")] = None
    keep: Annotated[
        list[str] | None,
        Option(
            help="Do not leave out: blank, damaged, control, language, copies, lengths, repeated, nearly-repeated "
            "or apart."
        ),
    ] = None


@app.command()
@as_command
def clean(
    *,
    corpus: Annotated[str | None, Argument(help="A corpus, as openwork data list names it.")] = None,
    source: Annotated[Path | None, Option(help="Source sentences, one a line.")] = None,
    target: Annotated[Path | None, Option(help="Their translations, one a line.")] = None,
    out: Annotated[Path, Option("--out", "-o", help="Folder for the kept pairs and left-out.jsonl; it is made.")],
    languages: Annotated[
        str | None, Option(help="Such as en-de: also leave out lines in another language (extra languages).")
    ] = None,
    rules: RuleOptions,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Write a corpus without its faulty pairs, and why each was left out.

    No pair is changed, and the order stays. A pair that is there again names the line of the first one.

    openwork data clean --source train.en --target train.de --out cleaned

    openwork data clean multi30k-en-de --keep nearly-repeated --out cleaned
    """
    from openwork.data.check.cleaning import chosen_rules
    from openwork.data.check.cleaning import clean as clean_pairs
    from openwork.data.check.report import TRAIN, read_splits, watched

    chosen, pair = chosen_rules(rules.drop or [], rules.keep or []), _language_pair(languages)
    pairs = watched(read_splits(corpus, {TRAIN: (source, target)}, folder)[TRAIN], report)
    names = _names_of(corpus, source, target)
    cleaned = clean_pairs(pairs, names, out, chosen, pair, report, (source, target))
    print_result(cleaned.to_json, cleaned.lines, as_json=as_json)


def _language_pair(languages: str | None) -> tuple[str, str] | None:
    """UsageError for what is no pair of languages."""
    if languages is None:
        return None
    first, _, second = languages.partition("-")
    if not (first and second):
        raise UsageError(
            f"--languages {languages}: no pair of languages", hint="such as --languages en-de", code="U007"
        )
    return first, second


def _names_of(corpus: str | None, source: Path | None, target: Path | None) -> tuple[str, str]:
    """The names of the cleaned files: those of the files, not compressed, or those that a known corpus gets."""
    from openwork.data.corpora import catalogue

    if corpus is not None:
        first, second = (*catalogue.find(corpus).languages, "source", "target")[:2]
        return f"train.{first}", f"train.{second}"
    assert source is not None and target is not None, "read_splits wants both"
    one, other = (path.stem if path.suffix in (".gz", ".xz") else path.name for path in (source, target))
    return (one, other) if one != other else (f"source.{one}", f"target.{other}")


class _Progress:
    """Reports the progress of a download every few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, name: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        if total:
            report(f"fetching {name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
        else:
            report(f"fetching {name}: {done / 1e6:,.1f} MB")
