"""Where the daemon of this user listens, a Unix socket that nobody else may reach, and a connection to it."""

import http.client
import os
import socket
import stat
import sys
import tempfile
from pathlib import Path

from openwork.base.errors import OpenworkError
from openwork.base.messages import msg

DAEMON = "daemon"  # in place of a server's address
VARIABLE = "XDG_RUNTIME_DIR"


def daemon_socket() -> Path:
    """The path of the socket; its folder is made where it is missing.

    OpenworkError where others can write to that folder, and so could answer in the daemon's place.
    """
    root = os.environ.get(VARIABLE)
    if sys.platform == "win32":
        raise _unusable(Path(root or tempfile.gettempdir()), msg("this system has no such sockets"))
    folder = Path(root, "openwork") if root else Path(tempfile.gettempdir(), f"openwork-{os.getuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise _unusable(folder, msg("it is not a folder that this user alone may write"))
    return folder / "daemon.socket"


def _unusable(folder: Path, why: str) -> OpenworkError:
    return OpenworkError(
        f"{folder}: no place for the daemon's socket",
        why=why,
        hint=f"remove it, or set {VARIABLE} to a folder of your own; openwork serve needs none",
        code="E055",
    )


class DaemonConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        """OSError where nobody listens."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.fspath(self.path))
