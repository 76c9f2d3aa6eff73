"""Clients that are slow on purpose, send too much or nonsense, each against a real server: none holds a connection."""

import contextlib
import gzip
import json
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from serving.running import SLOW, RunningServer, of_a_server, running, wait_until

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytest.importorskip("httptools", reason="needs the extra serve")
pytestmark = of_a_server
POST = b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SECONDS = 1.0  # that a request may take to arrive; a busy machine may need some of it


@pytest.fixture(scope="module")
def folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "tiny"
    settings = tiny_bundle.settings.model_copy(update={"source_language": "en", "target_language": "de"})
    write_bundle(place, replace(tiny_bundle, settings=settings))
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running(folder, workers=1, receive_seconds=SECONDS, most_bytes=32 << 20, most_lines=2_000_000) as started:
        yield started


@contextlib.contextmanager
def connected(server: RunningServer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=SLOW) as client:
        yield client


def all_of(client: socket.socket) -> bytes:
    """What the server sends until it ends the connection."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            found += part
    return found


def drip(client: socket.socket, byte: bytes) -> None:
    """Sends one byte at a time, until the server has hung up."""
    last = time.monotonic() + SLOW
    client.setblocking(False)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while time.monotonic() < last:
            client.sendall(byte)
            time.sleep(SECONDS / 10)
            with contextlib.suppress(BlockingIOError):
                if client.recv(1, socket.MSG_PEEK) == b"":
                    break
    assert time.monotonic() < last
    client.setblocking(True)


def test_a_connection_without_a_request_ends(server: RunningServer) -> None:
    with connected(server) as client:
        found = all_of(client)
    assert found.startswith(b"HTTP/1.1 408 ") and b"no whole request within 1 seconds" in found
    assert b"x-content-type-options: nosniff" in found


def test_a_head_a_byte_at_a_time_ends(server: RunningServer) -> None:
    with connected(server) as client:
        client.sendall(POST)
        drip(client, b"X")
        assert server.ask("GET", "/health").status == 200


def test_a_body_a_byte_at_a_time_ends(server: RunningServer) -> None:
    with connected(server) as client:
        client.sendall(POST + b"Content-Length: 100000\r\n\r\n")
        drip(client, b" ")
    with connected(server) as client:
        client.sendall(POST + b"Content-Length: 100\r\n\r\n{")
        assert all_of(client).startswith(b"HTTP/1.1 408 ")


def test_a_body_that_nobody_reads_does_not_keep_the_connection(server: RunningServer) -> None:
    with connected(server) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
        drip(client, b" ")


def test_an_answer_that_is_not_read_is_given_up(server: RunningServer) -> None:
    """10 million blanks are their own translation, and more than the system's buffers take."""
    body = json.dumps({"text": " " * 10_000_000}).encode()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(SLOW)
        client.connect(("127.0.0.1", server.port))
        client.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert select.select([client], [], [], SLOW)[0]  # the answer has begun
        time.sleep(4 * SECONDS)
        assert 0 < len(all_of(client)) < 10_000_000


def test_there_is_a_bound_on_connections(folder: Path) -> None:
    with running(folder, workers=1, connections=4) as server, contextlib.ExitStack() as opened:
        for _ in range(4):
            opened.enter_context(connected(server))
        wait_until(lambda: server.ask("GET", "/health").status == 503)
        refused = server.ask("GET", "/health")
        assert "too many connections" in refused.json["error"] and refused.headers["retry-after"] == "1"
        for _ in range(4):
            opened.enter_context(connected(server))
        with connected(server) as ninth:
            assert all_of(ninth) == b""
        opened.close()
        wait_until(lambda: server.ask("GET", "/health").status == 200)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b"400"),
        (b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", b"400"),
        (b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"400"),
        (b"X-\x00: a\r\nContent-Length: 0\r\n\r\n", b"400"),
        (b"X: a\x00b\r\nContent-Length: 0\r\n\r\n", b"400"),
        (b"Content-Length: -1\r\n\r\n", b"400"),
        (b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", b"415"),
        (b"X: " + b"a" * (8 << 20), b"431"),
    ],
)
def test_heads_that_could_be_understood_in_two_ways_are_refused(
    server: RunningServer, lines: bytes, status: bytes
) -> None:
    with connected(server) as client:
        with contextlib.suppress(OSError):  # it may hang up before all is sent
            client.sendall(POST + lines)
        found = all_of(client)
    assert found.startswith(b"HTTP/1.1 " + status) or (not found and status == b"431"), found[:300]


def test_a_compressed_body_is_not_unpacked(server: RunningServer) -> None:
    body = gzip.compress(b'{"text": "a"}' + b" " * 100_000_000)
    found = server.ask("POST", "/v1/translate", body, Content_Encoding="gzip")
    assert found.status == 415 and "compressed" in found.json["error"]


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//health", "/docs/../x", "/%00", "/a\\..\\b"]
)
def test_a_path_is_only_a_name(server: RunningServer, path: str) -> None:
    found = server.ask("GET", path)
    assert found.status == 404 and "Not Found" in found.json["error"] and b"root:" not in found.body


def test_a_million_tiny_lines_hold_nobody_up(server: RunningServer) -> None:
    """They are more tokens than may wait: all are refused, or translated while others are too."""
    with connected(server) as client:
        body = json.dumps({"text": "\n" * 1_000_000}).encode()
        client.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert server.texts("a b")
        client.settimeout(SLOW)
        assert client.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 503", b"HTTP/1.1 429")


def test_the_page_has_a_policy_of_its_own(server: RunningServer) -> None:
    found = server.ask("GET", "/docs")
    assert found.status == 200 and found.headers["content-type"].startswith("text/html")
    assert "script-src 'sha256-" in found.headers["content-security-policy"]
    assert server.ask("GET", "/health").headers["content-security-policy"].startswith("default-src 'none'; frame")
