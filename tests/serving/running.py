"""A server in a process of its own, and a client that asks it by the standard library."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

for name in ("fastapi", "uvicorn", "prometheus_client"):
    pytest.importorskip(name, reason="needs the extra serve")
of_a_server = [
    pytest.mark.slow,  # a server loads torch before its first answer
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes of a server in /proc"),
]
SERVING = "serving at "
SLOW = 120  # seconds; a machine may be busy


class Answer(NamedTuple):
    """What a server answered: the status, the headers in lower case, and the body as bytes."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RunningServer:
    """A server that was started: its process, the port, and the lines that it wrote."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def place(self) -> str:
        """Where it serves, as it says; empty before."""
        said = (line for line in self.lines if line.startswith(SERVING))
        return next(said, "").removeprefix(SERVING).partition(";")[0]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """An answer to a request, with JSON as its body unless that is bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SLOW)
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # a refusal may come before the body is sent
                connection.request(method, path, content, {"Content-Type": "application/json"} | given)
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def translate(self, text: str | list[str], **asked: Any) -> Answer:
        return self.ask("POST", "/v1/translate", {"text": text, **asked})

    def texts(self, text: str | list[str], **asked: Any) -> list[str]:
        answer = self.translate(text, **asked)
        assert answer.status == 200, answer.body
        return [one["text"] for one in answer.json["translations"]]

    def measure(self, name: str) -> float:
        """A figure of /metrics, summed over its labels."""
        lines = self.ask("GET", "/metrics").body.decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.partition("{")[0].split(" ")[0] == name)

    def processes(self) -> tuple[list[int], list[int]]:
        """The process with the bundles, and its copies."""
        models = _children(self.process.pid)
        return models, [worker for one in models for worker in _children(one)]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SLOW)


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(one) for one in found]


def wait_until(holds: Callable[[], Any]) -> None:
    """Returns when something holds."""
    last = time.monotonic() + SLOW
    while not holds():
        assert time.monotonic() < last, "it did not come about"
        time.sleep(0.02)


@contextmanager
def running(*bundles: Path, **options: Any) -> Iterator[RunningServer]:
    """A server of these bundles at a free port; it is ended at the end, if it still runs."""
    given = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    with started("serve", *bundles, "--port", "0", *given) as server:
        server.port = int(server.place.rpartition(":")[2])
        if "certificate" not in options:
            wait_until(lambda: server.ask("GET", "/ready").status == 200)
        yield server


@contextmanager
def started(*arguments: Any, **environment: str) -> Iterator[RunningServer]:
    """A command that serves, once it says where; it is ended at the end, if it still runs."""
    command = [sys.executable, "-m", "openwork", *map(str, arguments)]
    environment = {"OMP_NUM_THREADS": "1", **environment}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    server = RunningServer(process)
    assert process.stderr is not None

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            server.lines.append(line.rstrip("\n"))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        wait_until(lambda: process.poll() is not None or server.place)
        assert process.poll() is None, server.lines
        yield server
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(SLOW)
        reader.join(SLOW)
