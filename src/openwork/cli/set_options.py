"""Options that select a test set."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from openwork.base.errors import UsageError


@dataclass(frozen=True)
class SetOptions:
    """The test set: sources and references."""

    source: Annotated[Path | None, typer.Option(help="Source sentences, one a line.")] = None
    reference: Annotated[Path | None, typer.Option(help="Their translations or labels, one a line.")] = None
    corpus: Annotated[str | None, typer.Option(help="A known corpus instead of files, such as multi30k-en-de.")] = None
    split: Annotated[str, typer.Option(help="Split of the corpus.")] = "valid"
    file: Annotated[Path | None, typer.Option(help="One file of columns with a header line instead.")] = None
    columns: Annotated[str, typer.Option(help="Its columns: one or two of the source, then that of the label.")] = (
        "sentence,label"
    )

    def check(self) -> None:
        """UsageError unless one test set is named."""
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
        """The files that are read."""
        return self.source, self.reference, self.file

    @property
    def column_names(self) -> list[str]:
        """The names of the file's columns."""
        return [name.strip() for name in self.columns.split(",")]
