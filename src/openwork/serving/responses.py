"""What all routes share: answers that are errors, and work that ends where its client has gone."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from openwork.serving.errors import OPENAI_PATHS, TooLong, Unmet, WrongToken, error_body
from openwork.serving.scheduling import Full
from openwork.serving.service import NotServed, NotTranslated, UnknownModel

T = TypeVar("T")

STATUSES: Mapping[type[Exception], tuple[int, str | None]] = {
    NotServed: (400, None),
    UnknownModel: (404, "model_not_found"),
    Unmet: (400, None),
    TooLong: (400, "context_length_exceeded"),
    WrongToken: (401, None),
    NotTranslated: (500, None),
}
"""The status of each error, and OpenAI's code for it where it has one."""


def add_errors(app: FastAPI) -> None:
    """Errors become answers with a sentence."""
    for kind in STATUSES:
        app.add_exception_handler(kind, _known)
    app.add_exception_handler(Full, _full)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _other)


def _known(request: Request, error: Exception) -> Response:
    status, code = STATUSES[type(error)]
    return _answer(request, status, str(error), code)


def _full(request: Request, error: Exception) -> Response:
    assert isinstance(error, Full)
    found = _answer(request, 429, f"too much waits already; {error}")
    found.headers["retry-after"] = str(error.seconds)
    return found


def _other(request: Request, error: Exception) -> Response:
    """No such route, or not with this method."""
    assert isinstance(error, HTTPException)
    return _answer(request, error.status_code, f"{request.method} {request.url.path}: {error.detail}")


def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [_sentence(one) for one in error.errors()]
    return _answer(request, 400 if request.url.path in OPENAI_PATHS else 422, "; ".join(found[:10]))


def _sentence(problem: Mapping[str, Any]) -> str:
    """Which field, and what is wrong with it; a rule between fields names them itself."""
    place = ".".join(map(str, problem["loc"][1:]))
    if problem["type"] == "value_error":
        return ": ".join(filter(None, (place, problem["msg"].removeprefix("Value error, "))))
    return f"{place or 'the body'}: {problem['msg']}"


def _answer(request: Request, status: int, problem: str, code: str | None = None) -> Response:
    body = error_body(request.url.path, status, problem, code)
    return Response(body, status, media_type="application/json")


async def unless_gone(request: Request, work: Awaitable[T]) -> T:
    """The result; a client that has gone cancels the work."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
        return await task
    finally:
        gone.cancel()
        task.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def bearer(request: Request) -> str:
    """The token of the header Authorization; empty without one."""
    return request.headers.get("authorization", "").removeprefix("Bearer ")
