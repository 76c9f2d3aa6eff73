"""openwork config from"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.printing import escaped, write_document, write_json
from openwork.cli.terminal import print_lines, say


def config_from(
    file: Annotated[Path, typer.Argument(help="A configuration (YAML), or a script with the command line.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run file to write; without it, it is printed.")
    ] = None,
    toolkit: Annotated[
        str | None,
        typer.Option(help="Whose it is: fairseq, opennmt-py, eole, marian, sockeye or joeynmt; else found out."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Translate another toolkit's configuration into a run file.

    Takes a configuration file or a command line, and says what became of each option.

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
        say(f"the run file is {out}; next: openwork config check {out}")
    else:
        write_document(run_text(translation))
        for line in report_lines(translation):
            say(line)
