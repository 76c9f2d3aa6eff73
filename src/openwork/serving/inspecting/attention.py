"""The route /v1/attention: what each head attends to while a text is translated, and what explains the translation."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.errors import Unmet
from openwork.serving.inspecting.bodies import AttentionAnswer, AttentionRequest
from openwork.serving.options import TranslationOptions
from openwork.serving.responses import unless_gone
from openwork.serving.service import Service

LONGEST = 2000  # characters


def add_attention(app: FastAPI, service: Service) -> None:
    """Adds the route."""

    @app.post("/v1/attention", responses={200: {"model": AttentionAnswer}, **REFUSALS})
    async def attention(asked: AttentionRequest, request: Request) -> JSONResponse:
        """What each head attends to while a line is translated, and with `why` what explains the translation."""
        model = service.find(asked.source, asked.target, asked.bundle)
        if not all(_is_line(text) for text in (asked.text, asked.translation) if text is not None):
            raise Unmet(f"attention is shown for one line of at most {LONGEST:,} characters")
        work = service.translate(model, [asked.text], TranslationOptions(attend=asked.options))
        (((best, *_),)) = await unless_gone(request, work)
        found: dict[str, Any] = best["attention"]
        if "failed" in found:
            raise Unmet(found["failed"])
        return JSONResponse(found)


def _is_line(text: str) -> bool:
    return bool(text.strip()) and "\n" not in text and len(text) <= LONGEST
