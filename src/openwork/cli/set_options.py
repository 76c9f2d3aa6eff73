"""On which pairs a system is scored, as options."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError


@dataclass(frozen=True)
class SetOptions:
    """What is asked for, and what is right."""

    source: Annotated[Path | None, typer.Option(help="Source sentences, one a line.")] = None
    reference: Annotated[Path | None, typer.Option(help="Their translations or labels, one a line.")] = None
    corpus: Annotated[str | None, typer.Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None
    split: Annotated[str, typer.Option(help="Which part of the corpus.")] = "valid"
    file: Annotated[Path | None, typer.Option(help="One file of columns instead, whose first line names them.")] = None
    columns: Annotated[
        str, typer.Option(help="Its columns: that of the source, or two of them, and last that of the label.")
    ] = "sentence,label"

    def check(self) -> None:
        """UsageError unless there is one test set."""
        files = self.source is not None and self.reference is not None
        chosen = files + (self.corpus is not None) + (self.file is not None)
        if chosen != 1 or (self.source is None) != (self.reference is None):
            raise UsageError(
                "name what to evaluate on",
                hint="give --source and --reference, or --corpus, or --file with --columns",
                code="U010",
            )

    @property
    def files(self) -> tuple[Path | None, ...]:
        """What is read, where it has no name."""
        return self.source, self.reference, self.file

    @property
    def column_names(self) -> list[str]:
        """The names of the file's columns."""
        return [name.strip() for name in self.columns.split(",")]
