"""The checks before the routes: the name of the host, the token, sizes and times; and a log line for each request."""

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from openwork.serving.settings import ServerSettings

LOG = logging.getLogger("openwork.requests")
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
)
OPEN = ("/health", "/ready")  # without a token


class _TooLarge(Exception):
    pass


class Guard:
    """The application behind the checks. Errors are JSON, {"error": ...}, as LibreTranslate's are.

    `counted`: called with path, status and seconds of each request.
    """

    def __init__(self, app: App, settings: ServerSettings, counted: Callable[[str, int, float], None]) -> None:
        self.app, self.settings, self.counted = app, settings, counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0

        async def answering(message: Scope) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        headers = {name.lower(): value for name, value in scope["headers"]}
        try:
            if refusal := self._refusal(scope["path"], headers):
                await _refuse(answering, *refusal)
            else:
                async with asyncio.timeout(self.settings.seconds):
                    await self.app(scope, self._bounded(receive), answering)
        except _TooLarge:
            if not status:
                await _refuse(answering, 413, f"the request has more than {self.settings.most_bytes:,} bytes")
        except TimeoutError:
            if not status:
                await _refuse(answering, 503, f"no answer within {self.settings.seconds:g} seconds")
        finally:
            seconds = time.perf_counter() - started
            self.counted(scope["path"], status, seconds)
            LOG.info(json.dumps({
                "method": scope["method"], "path": scope["path"], "status": status, "seconds": round(seconds, 4),
            }))  # fmt: skip

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.strip("[]") not in self.settings.allowed_hosts:
            return 421, f"this server is not called {name!r}; openwork serve --allow-host adds a name"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.settings.most_bytes:
            return 413, f"the request has more than {self.settings.most_bytes:,} bytes"
        if self.settings.token and path not in OPEN:
            given = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self.settings.token.encode()):
                return 401, "the header Authorization: Bearer TOKEN is missing or wrong"
        return None

    def _bounded(self, receive: Receive) -> Receive:
        taken = 0

        async def bounded() -> Scope:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.settings.most_bytes:
                raise _TooLarge
            return message

        return bounded


async def _refuse(send: Send, status: int, problem: str) -> None:
    body = json.dumps({"error": problem}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
