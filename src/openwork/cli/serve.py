"""openwork serve"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.cli.terminal import report
from openwork.inference.settings import TranslationPrecision
from openwork.serving.settings import ServerSettings, read_token

MOST_TOKENS = 1 << 30
PACKAGES = "fastapi", "httptools", "prometheus_client", "python_multipart", "uvicorn"


@dataclass(frozen=True)
class ServerOptions:
    """Where the server listens, and who may ask."""

    host: Annotated[str, Option(help="Address to listen at; others than loopback need a token.")] = ServerSettings.host
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0: any that is free.")] = ServerSettings.port
    token_file: Annotated[Path | None, Option(help="A file with the token that requests must bring.")] = None
    certificate: Annotated[Path | None, Option(help="TLS: the file of the certificate.")] = None
    key: Annotated[Path | None, Option(help="TLS: the file of its key.")] = None
    allow_host: Annotated[list[str] | None, Option(help="Another name by which the server is called.")] = None
    runs: Annotated[list[Path] | None, Option(help="A run, or a folder of runs, which the page shows.")] = None
    opens: Annotated[bool, Option("--open", help="Open the server's page in a browser.")] = False


@dataclass(frozen=True)
class LimitOptions:
    """How much a request may ask for, and how much may wait."""

    workers: Annotated[int | None, Option(min=1, max=256, help="Processes that translate; else one a core.")] = None
    queue_tokens: Annotated[int, Option(min=1, max=MOST_TOKENS, help="Source tokens that may wait.")] = (
        ServerSettings.queue_tokens
    )
    most_bytes: Annotated[int, Option(min=1, max=MOST_TOKENS, help="Bytes of a request.")] = ServerSettings.most_bytes
    most_lines: Annotated[int, Option(min=1, max=MOST_TOKENS, help="Lines of a request.")] = ServerSettings.most_lines
    seconds: Annotated[float, Option(min=0.1, max=86_400, help="Seconds for a request.")] = ServerSettings.seconds
    receive_seconds: Annotated[
        float, Option(min=0.1, max=86_400, help="Seconds for the head of a request to arrive, and for its body.")
    ] = ServerSettings.receive_seconds
    connections: Annotated[int, Option(min=1, max=100_000, help="Connections at a time; more are refused.")] = (
        ServerSettings.connections
    )


def serve(
    *,
    bundles: Annotated[list[Path], Argument(help="Bundles; a request names one, or languages.", show_default=False)],
    server: ServerOptions,
    limits: LimitOptions,
    precision: Annotated[
        TranslationPrecision, Option(help="Number type of the matrix products; auto: the fastest on this machine.")
    ] = ServerSettings.precision,
) -> None:
    """Translate and continue texts for other programs, over HTTP.

    openwork serve en-de de-en --open

    openwork serve en-de --host 0.0.0.0 --token-file token --certificate server.pem --key server.key
    """
    settings = ServerSettings(
        server.host, server.port, read_token(server.token_file) if server.token_file else "", server.certificate,
        server.key, tuple(server.allow_host or ()), limits.most_bytes, limits.most_lines, limits.seconds,
        limits.receive_seconds, limits.connections, limits.workers or 0, limits.queue_tokens, precision,
        runs=tuple(server.runs or ()),
    )  # fmt: skip
    _serve("serve", bundles, settings, *([open_in_browser] if server.opens else []))


def daemon(
    *,
    bundles: Annotated[list[Path], Argument(help="Bundles; a request names one, or languages.", show_default=False)],
    workers: Annotated[int | None, Option(min=1, max=256, help="Processes that translate; else one a core.")] = None,
    precision: Annotated[
        TranslationPrecision, Option(help="Number type of the matrix products; auto: the fastest on this machine.")
    ] = ServerSettings.precision,
) -> None:
    """Keep bundles in memory for the shell: translations begin at once.

    openwork daemon en-de &

    openwork daemon en-de de-en --workers 1 &

    echo 'Ein Hund.' | openwork translate --server daemon de-en

    No other user reaches it. Ctrl-C, or kill, ends it; kill -HUP loads the bundles again.
    """
    from openwork.serving.client.daemon import daemon_socket

    _serve("daemon", bundles, ServerSettings(socket=daemon_socket(), workers=workers or 0, precision=precision))


def open_in_browser(address: str) -> None:
    """Opens it, or says that there is no browser."""
    import webbrowser

    if not webbrowser.open(address):
        report(f"no browser was found here; open {address} in one")


def _serve(
    command: str, bundles: list[Path], settings: ServerSettings, ready: Callable[[str], None] = lambda address: None
) -> None:
    check_packages(command)
    from openwork.bundles.folder import check_bundle
    from openwork.serving.server import serve as run
    from openwork.serving.service import named

    settings.check()
    for path in bundles:
        check_bundle(path)
    if settings.runs:
        from openwork.runs.compared.found import find_runs

        find_runs(settings.runs)
    run(named(bundles), settings, report, ready)


def check_packages(command: str) -> None:
    """UsageError where a package of the extra serve is missing."""
    if any(find_spec(name) is None for name in PACKAGES):
        raise UsageError(
            f"openwork {command} needs packages that are not installed",
            hint="pip install fastapi httptools prometheus-client python-multipart uvicorn (the extra serve)",
            code="U140",
        )
