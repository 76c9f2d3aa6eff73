"""The checks before the routes: the name of the host, the token, sizes and times; and a log line for each request."""

import asyncio
import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NoReturn

from openwork.serving.errors import WRONG_TOKEN, error_body
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
OPEN = ("/", "/health", "/ready", "/languages", "/docs")  # without a token
DOWNLOADS = "/download_file/"  # and a name that cannot be guessed, which is as good as a token
OWN_KEY = ("/translate", "/translate_file", "/detect")  # the token may come in the body: the routes look for it
LONGEST_LENGTH = 18  # digits of the header Content-Length


class _Refused(Exception):
    """The body is too large or too slow, which was answered already."""


class Guard:
    """The application behind the checks. Errors are JSON (`errors.py`).

    `counted`: called with path, status and seconds of each request.
    """

    def __init__(self, app: App, settings: ServerSettings, counted: Callable[[str, int, float], None]) -> None:
        self.app, self.settings, self.counted = app, settings, counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, is_refused = time.perf_counter(), 0, False

        async def answering(message: Scope) -> None:
            nonlocal status
            if is_refused:  # and answered already
                return
            if message["type"] == "http.response.start":
                status = message["status"]
                own = list(message.get("headers", ()))
                names = {name for name, _ in own}
                message["headers"] = [*own, *(one for one in HEADERS if one[0] not in names)]
            await send(message)

        taken, is_whole = 0, False
        deadline = asyncio.get_running_loop().time() + self.settings.receive_seconds

        async def bounded() -> Scope:
            """A part of the body; of a refused one there is no more, whatever the application makes of that."""
            nonlocal taken, is_whole
            try:
                async with asyncio.timeout_at(None if is_whole else deadline):
                    message = await receive()
            except TimeoutError:
                await refused(408, f"no whole request within {self.settings.receive_seconds:g} seconds")
            is_whole = is_whole or not message.get("more_body")
            taken += len(message.get("body", b""))
            if taken > self.settings.most_bytes:
                await refused(413, self._too_large)
            return message

        async def refused(status_code: int, problem: str) -> NoReturn:
            nonlocal is_refused
            if not status:
                await refuse(answering, scope, status_code, problem)
            is_refused = True
            raise _Refused

        headers = {name.lower(): value for name, value in scope["headers"]}
        try:
            if refusal := self._refusal(scope["path"], headers):
                await refuse(answering, scope, *refusal)
            else:
                async with asyncio.timeout(self.settings.seconds):
                    await self.app(scope, bounded, answering)
        except _Refused:
            pass
        except TimeoutError:
            if not status:
                await refuse(answering, scope, 503, f"no answer within {self.settings.seconds:g} seconds")
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
        if headers.get(b"content-encoding", b"identity").strip().lower() != b"identity":
            return 415, "a compressed body is not unpacked; send it as it is"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > LONGEST_LENGTH or int(length) > self.settings.most_bytes:
            return 413, self._too_large
        given = headers.get(b"authorization", b"").decode("latin-1").removeprefix("Bearer ")
        is_open = path in OPEN or path.startswith(DOWNLOADS) or (path in OWN_KEY and not given)
        if not is_open and not is_token(given, self.settings):
            return 401, WRONG_TOKEN
        return None

    @property
    def _too_large(self) -> str:
        return f"the request has more than {self.settings.most_bytes:,} bytes"


def is_token(given: str, settings: ServerSettings) -> bool:
    """Whether this is the server's token, or it has none."""
    return not settings.token or hmac.compare_digest(given.encode("utf-8", "replace"), settings.token.encode())


async def refuse(send: Send, scope: Scope, status: int, problem: str, *more: tuple[bytes, bytes]) -> None:
    """An answer with these headers more, after which the connection ends: the body was perhaps not read."""
    body = error_body(scope["path"], status, problem)
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), (b"connection", b"close"),
        *more,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
