"""What refuses a request, and the body of an answer that says so: LibreTranslate's form, or OpenAI's on its routes."""

import json
from typing import Any

OPENAI_PATHS = ("/v1/models", "/v1/completions", "/v1/chat/completions")
CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
WRONG_TOKEN = "the header Authorization: Bearer TOKEN is missing or wrong"


class Unmet(Exception):
    """A request that cannot be met as it is."""


class TooLong(Unmet):
    """A prompt that does not fit, alone or with what may follow it."""


class WrongToken(Exception):
    """The token is missing or wrong."""

    def __str__(self) -> str:
        return WRONG_TOKEN


def error_body(path: str, status: int, problem: str, code: str | None = None) -> bytes:
    """The JSON of an error: {"error": a sentence}; on OpenAI's routes {"error": {"message": a sentence, ...}}."""
    error: str | dict[str, Any] = problem
    if path in OPENAI_PATHS:
        error = {"message": problem, "type": _kind(status), "param": None, "code": code or CODES.get(status)}
    return json.dumps({"error": error}).encode()


def _kind(status: int) -> str:
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"
