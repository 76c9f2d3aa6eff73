"""The process that has the bundles in memory and is copied for each worker: `python -m openwork.serving.models`.

It connects to the Unix socket that it is given, says that the bundles are loaded, or why not, and copies itself at each
message. It has one thread, so that a copy is whole.
"""

import gc
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.serving.messages import receive, send


def main() -> None:
    """Arguments: the socket, and the number of this process among its kind."""
    place, generation = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches all; the server ends this one
    control = _connected(place)
    send(control, {"models": int(generation)})
    asked = receive(control)
    if asked is None:
        return
    try:
        bundles = _loaded(asked)
    except OpenworkError as error:
        send(control, {"failed": {"what": error.what, "why": error.why, "hint": error.hint, "code": error.code}})
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended workers leave nothing
    gc.collect()
    gc.freeze()  # so that looking for garbage does not copy what the workers share
    send(control, {"loaded": True})
    while receive(control) is not None:
        if os.fork() == 0:
            control.close()
            _work(place, generation, bundles)
            os._exit(0)


def _connected(place: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(place)
    return connection


def _loaded(asked: dict[str, Any]) -> Any:
    import torch

    torch.set_num_threads(1)
    from openwork.bundles.bundle import load_bundle
    from openwork.serving.worker import served

    return {name: served(load_bundle(Path(path)), asked["precision"]) for name, path in asked["bundles"].items()}


def _work(place: str, generation: str, bundles: Any) -> None:
    from openwork.serving.worker import work

    try:
        connection = _connected(place)
        send(connection, {"generation": int(generation), "worker": os.getpid()})
        work(connection, bundles)
    except (OSError, SystemExit, KeyboardInterrupt):  # the server has ended
        return


if __name__ == "__main__":
    main()
