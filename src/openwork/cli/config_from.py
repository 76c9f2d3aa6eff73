"""openwork config from"""

from pathlib import Path
from typing import Annotated

import typer

from openwork.base.printing import escaped, write_document, write_json
from openwork.cli.options import AsJson
from openwork.cli.terminal import print_lines, report


def config_from(
    file: Annotated[Path, typer.Argument(help="A configuration (YAML), or a script with the command line.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The run file to write; without it, it is printed.")
    ] = None,
    toolkit: Annotated[
        str | None,
        typer.Option(help="fairseq, opennmt-py, eole, marian, sockeye or joeynmt; detected if not given."),
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
