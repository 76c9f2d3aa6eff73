"""openwork config: settings, their values, and the origin of each value."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, Option

from openwork.base.errors import ConfigError, UsageError
from openwork.base.phrases import Joined
from openwork.base.printing import escaped, write_document, write_json
from openwork.cli.options import AsJson, Assignments, as_command
from openwork.cli.terminal import print_lines, print_result, report, show_error


def config_from(
    file: Annotated[Path, Argument(help="A configuration (YAML), or a script with the command line.")],
    out: Annotated[Path | None, Option("--out", "-o", help="The run file to write; without it, it is printed.")] = None,
    toolkit: Annotated[
        str | None,
        Option(help="fairseq, opennmt-py, eole, marian, sockeye or joeynmt; detected if not given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Translate another toolkit's configuration into a run file.

    Reads a configuration file or a command line, and lists the result for each option.

    openwork config from train.sh --out run.toml

    openwork config from config.yml --toolkit marian --json
    """
    from openwork.base.files import atomic_write_text
    from openwork.base.outputs import check_file
    from openwork.migration.report import report_lines, report_values
    from openwork.migration.run_text import run_text
    from openwork.migration.translation import translate_configuration

    if out is not None:
        check_file(out, lambda _: False, [file])  # an older run file may have been edited since
    translation = translate_configuration(file, toolkit)
    if out is not None:
        atomic_write_text(out, escaped(run_text(translation)))
    if as_json:
        write_json(report_values(translation))
    elif out is not None:
        print_lines(report_lines(translation))
        report(f"the run file is {out}; next: openwork config check {out}")
    else:
        write_document(run_text(translation))
        for line in report_lines(translation):
            report(line)


app = typer.Typer(no_args_is_help=True, help="Show, check, explain and convert run files.")

FileKind = Literal["run", "translation"]


@app.command()
@as_command
def show(
    file: Annotated[
        Path | None, Argument(help="A run file, a recipe's name or a run's folder; else settings are chosen.")
    ] = None,
    origin: Annotated[bool, Option(help="Show where each value comes from.")] = False,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Show all settings of a training as a run file.

    openwork config show multi30k-en-de --origin

    openwork config show --set data.corpus=copy --origin
    """
    from openwork.base.config import Layer, apply_assignments
    from openwork.runs.file.resolve import resolve

    if file is None and "data" not in apply_assignments(Layer(), assignments or []).mapping:
        raise UsageError(
            "there is nothing to show", hint="name a run file, or the data: --set data.corpus=copy", code="U004"
        )
    shown = resolve(file, assignments or [], {}, report)
    if as_json:
        write_json(shown.to_json())
    else:
        write_document(shown.text(with_origins=origin).rstrip() + "\n")


@app.command()
@as_command
def explain(
    key: Annotated[
        str | None, Argument(help="A key such as decoding.beam, its last part, or a section; else all keys.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain a key of the run file.

    Its meaning, allowed values, default, related keys, and the recipes that set it.

    openwork config explain training.warmup

    openwork config explain decoding
    """
    from openwork.runs.file.keys import explain_key, key_lines

    if (lines := key_lines(key)) or key is None:
        print_result(lambda: lines, lambda: lines, as_json=as_json)
        return
    found = explain_key(key)
    lines = [line for place, one in enumerate(found) for line in ([""] * bool(place) + one.lines())]
    print_result(lambda: [one.to_json() for one in found], lambda: lines, as_json=as_json)


@app.command()
@as_command
def schema(
    kind: Annotated[FileKind, Argument(help="A run file, or what openwork translate --settings reads.")] = "run",
) -> None:
    """Print the JSON Schema of a run file or a translation file.

    Editors use it to complete and check the file.

    openwork config schema > run.schema.json

    openwork config schema translation > translation.schema.json
    """
    from openwork.runs.file.keys import SCHEMAS

    write_json(SCHEMAS[kind](), indent=1)


@app.command()
@as_command
def check(
    file: Annotated[Path, Argument(help="A run file, a recipe's name or a run's folder.")],
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Check a run file and list all mistakes with their lines.

    Also lists values that are allowed but unlikely to be intended.

    openwork config check run.toml

    openwork config check run.toml --set model.heads=16
    """
    from openwork.runs.file.resolve import check_run_file

    checked = check_run_file(file, assignments or [])
    if as_json:
        write_json(checked.to_json())
    else:
        for mistake in checked.mistakes:
            show_error(mistake)
        for warning in checked.warnings:
            report(Joined("warning: ", warning))
        if not checked.mistakes:
            report(f"{file}: no mistakes; warnings: {len(checked.warnings)}")
    if checked.mistakes:
        raise typer.Exit(ConfigError.exit_code)


@app.command()
@as_command
def recipes() -> None:
    """List the recipes: run files that come with openwork.

    A recipe's name can be used in place of a run file.

    openwork config recipes

    openwork config recipes | grep multi30k
    """
    from openwork.runs.file.recipes import recipe_lines

    print_lines(recipe_lines())


app.command("from")(as_command(config_from))
