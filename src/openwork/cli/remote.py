"""openwork translate --server: a server in place of a bundle that is loaded here"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from openwork.base.errors import UsageError
from openwork.cli.terminal import report

if TYPE_CHECKING:
    from openwork.serving.client.server import ServerClient

LINES = {"bundle", "best", "as_json", "terms"}
DOCUMENTS = {"bundle", "as_json", "terms", "source", "out", "column", "memory", "only_untranslated"}


@dataclass(frozen=True)
class ServerChoice:
    """A server in place of a bundle that is loaded here."""

    server: Annotated[
        str | None, Option(help="Address of openwork serve, or daemon: it translates, and nothing is loaded.")
    ] = None
    token_file: Annotated[Path | None, Option(help="With --server: a file with the token that it asks for.")] = None

    def check(self, others: dict[str, Any]) -> None:
        """UsageError for options that a server does not take."""
        if self.server is None:
            if self.token_file is not None:
                raise UsageError("--token-file is for --server", hint="leave it out", code="U142")
            return
        unknown = sorted(others.keys() - (DOCUMENTS if "source" in others else LINES))
        if unknown or len(others.get("bundle", ())) > 1:
            raise UsageError(
                f"--server does not go with --{unknown[0].replace('_', '-') if unknown else 'bundle'}",
                why="the server translates with its own settings, and one bundle at a time",
                hint="give the name of one of its bundles, --terms, --json, and --best or a document alone",
                code="U143",
            )

    def client(self, bundles: list[Path] | None) -> "ServerClient":
        """A client of the server, for the bundle of that name, or the only one that there is."""
        from openwork.serving.client.server import ServerClient
        from openwork.serving.settings import read_token

        assert self.server is not None
        token = read_token(self.token_file) if self.token_file else ""
        return ServerClient(self.server, token=token, bundle=bundles[0].name if bundles else None)


def translate_lines(client: "ServerClient", lines: Any, best: int) -> None:
    """Translates standard input, line for line."""
    from openwork.base.lines import arriving_lines, cleaned, standard_input
    from openwork.base.printing import write_data
    from openwork.inference.filters.output import OutputFormat, translation_notes

    output, number = OutputFormat(best, lines.as_json), 0
    terms = _terms(lines.terms) if lines.terms is not None else None
    for batch in arriving_lines(standard_input()):
        texts = [cleaned(data, f"line {number + place}", report) for place, data in enumerate(batch, start=1)]
        for text, found in zip(texts, client.translate(texts, best, terms=terms), strict=True):
            number += 1
            for note in translation_notes(found[0]):
                report(f"line {number}: {note}")
            write_data(f"{output.line(text, found)}\n")


def _terms(path: Path) -> dict[str, str]:
    from openwork.data.glossary import read_glossary

    return {term.source: term.target for term in read_glossary(path).terms}
