"""Connections that cannot be held by clients who are slow on purpose, or send too much before a request.

uvicorn's protocol over httptools, with bounds: on the time and the size of a request's head, on the time in which the
rest of an answer is read, and on the number of connections.
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from openwork.serving.guarding import HEADERS, Receive, Scope, Send, refuse
from openwork.serving.settings import ServerSettings

MOST_HEAD = 1 << 16  # bytes of a request before its body
REFUSED = 2  # times the connections that are served: so many are answered with a refusal, and more not at all


class BoundedProtocol(HttpToolsProtocol):
    """A connection. Its head, and then its body (`guarding.py`), must each arrive within `settings.receive_seconds`."""

    settings = ServerSettings()

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._head = 0  # bytes of a head that is not complete
        self._is_in_head = True
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_limit()
        if len(self.connections) > REFUSED * self.settings.connections:
            transport.abort()
        elif len(self.connections) > self.settings.connections:
            self.app = _too_many  # once the head is there: an answer before it would be lost

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_limit()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._head = self._head + len(data) if self._is_in_head else 0
        if self._head > MOST_HEAD:
            self._refuse(431, f"the head of a request may have {MOST_HEAD:,} bytes")
        elif self._is_unread():
            self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        self._start_limit()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._end_limit()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.get_write_buffer_size():
            self.loop.call_later(self.settings.receive_seconds, self._give_up_writing)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "this is no HTTP request")

    def _is_unread(self) -> bool:
        """Whether the request was answered before its body was complete: the rest is not waited for."""
        return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

    def _start_limit(self) -> None:
        self._end_limit()
        self._limit = self.loop.call_later(self.settings.receive_seconds, self._too_slow)

    def _end_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _too_slow(self) -> None:
        if not self.transport.is_closing():
            self._refuse(408, f"no whole request within {self.settings.receive_seconds:g} seconds")

    def _give_up_writing(self) -> None:
        """The client does not read its answer."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _refuse(self, status: int, problem: str) -> None:
        """Answers what is no whole request, unless an earlier one is being answered, and ends the connection."""
        cycle = self.cycle
        is_idle = cycle is None or cycle.response_complete
        if is_idle or (cycle.more_body and not cycle.response_started):
            if not is_idle:
                cycle.disconnected = True  # so that the application adds nothing
            body = json.dumps({"error": problem}).encode()
            lines = [
                f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), b"content-type: application/json",
                b"content-length: %d" % len(body), b"connection: close", *map(b": ".join, HEADERS), b"", body,
            ]  # fmt: skip
            self.transport.write(b"\r\n".join(lines))
        self.transport.close()


def bounded_protocol(settings: ServerSettings) -> type[BoundedProtocol]:
    """The protocol of a server with these settings."""
    return type("Protocol", (BoundedProtocol,), {"settings": settings})


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    await refuse(send, scope, 503, "there are too many connections; try again later", (b"retry-after", b"1"), *HEADERS)
