"""Settings of a server: where it listens, who may ask, and how much. No torch here."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from openwork.base.errors import UsageError
from openwork.inference.settings import TranslationPrecision

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class ServerSettings:
    """Limits of a server. `socket`: the path of a Unix socket, in place of an address. `token`: what requests must
    bring, empty: nothing. `hosts`: names it may be called by. `workers`: processes that translate, 0: one a core.
    `queue_tokens`: source tokens that may wait. `receive_seconds`: for the head of a request, and again for its body.
    `connections`: that are open at a time. `runs`: folders of trainings that the page shows.
    """

    host: str = "127.0.0.1"
    port: int = 5000
    token: str = ""
    certificate: Path | None = None
    key: Path | None = None
    hosts: tuple[str, ...] = ()
    most_bytes: int = 1 << 20
    most_lines: int = 1000
    seconds: float = 60.0
    receive_seconds: float = 20.0
    connections: int = 4096
    workers: int = 0
    queue_tokens: int = 50_000
    precision: TranslationPrecision = "float32"
    socket: Path | None = None
    runs: tuple[Path, ...] = ()

    def check(self) -> None:
        """UsageError where others could reach the server without a token."""
        if self.host not in LOOPBACK and not self.token:
            raise UsageError(
                f"--host {self.host} is reached from other machines, and no token is set",
                why="whoever reaches the port could use the translator",
                hint="give --token-file FILE, or leave --host out",
                code="U134",
            )
        if (self.certificate is None) != (self.key is None):
            raise UsageError("--certificate and --key go together", hint="give both, or neither", code="U135")
        if self.certificate is not None:
            _check_certificate(self.certificate, self.key)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names in the header Host that are answered: else a page of another site could ask (DNS rebinding)."""
        return frozenset(name.lower() for name in (*LOOPBACK, self.host, *self.hosts))


def _check_certificate(certificate: Path, key: Path | None) -> None:
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError too
        raise UsageError(
            f"{certificate}, {key}: not a certificate and its key",
            why=error.strerror or str(error),
            hint="name two files in the format PEM",
            code="U145",
        ) from error


def read_token(path: Path) -> str:
    """The first line of a file. UsageError where it cannot be read or is empty."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: the token cannot be read", why=str(error), hint="name a text file", code="U136"
        ) from error
    if not token or "\n" in token:
        raise UsageError(
            f"{path}: a token is one line",
            hint="write one into the file, such as openssl rand -hex 32 prints",
            code="U137",
        )
    return token
