"""openwork train"""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from openwork.base.errors import UsageError
from openwork.cli.terminal import INTERRUPTED, progress_console, run, say


def train(
    run_file: Annotated[
        Path | None, typer.Argument(help="A run file (TOML); without one, settings are chosen.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; a run that is there continues.")] = None,
    source: Annotated[Path | None, typer.Option(help="Source sentences, one a line (plain or gzip).")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, one a line.")] = None,
    valid_source: Annotated[Path | None, typer.Option(help="Source sentences to validate with.")] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    corpus: Annotated[str | None, typer.Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as model.width=256; repeatable.")
    ] = None,
) -> None:
    """Train a translator on sentence pairs.

    openwork train --source train.en --target train.de --out en-de

    openwork train recipes/multi30k-en-de.toml --out multi30k
    """
    files = {"source": source, "target": target, "valid_source": valid_source, "valid_target": valid_target}
    given: dict[str, Any] = {key: str(path) for key, path in files.items() if path is not None}
    if corpus is not None:
        given["corpus"] = corpus
    run(lambda: _train(run_file, out, given, assignments or []))


def _train(run_file: Path | None, out: Path | None, given: dict[str, Any], assignments: list[str]) -> None:
    from openwork.systems.automatic import resolve
    from openwork.systems.run_file import read_run

    if out is None:
        raise UsageError("--out is missing", hint="name a folder for the run, such as --out en-de")
    layer = read_run(run_file, assignments, {"data": given} if given else {})
    settings = resolve(layer, say, choose_rest=run_file is None)

    from openwork.systems.train import train_bundle  # here: a mistake in the settings is told before torch is loaded
    from openwork.training.observers.console import console_observer

    try:
        outcome = train_bundle(settings, out, say, [console_observer(progress_console())])
    except KeyboardInterrupt:
        say("stopped at once; to continue from what was saved last, run the same command again")
        raise
    if outcome.bundle is None:
        say(f"saved after update {outcome.progress.step:,}; to continue, run the same command again")
        raise typer.Exit(INTERRUPTED)
    say(f"done: the translator is {outcome.bundle}")
    say(f"try: echo 'some text' | openwork translate --bundle {shlex.quote(str(out))}")
