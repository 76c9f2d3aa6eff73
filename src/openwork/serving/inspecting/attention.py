"""The route /v1/attention: what each head attends to while a text is translated."""

from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.bodies.typed import Text
from openwork.serving.errors import Unmet
from openwork.serving.options import TranslationOptions
from openwork.serving.responses import unless_gone
from openwork.serving.service import Service

LONGEST = 2000  # characters


class AttentionRequest(BaseModel):
    """A line to translate."""

    model_config = ConfigDict(extra="forbid")
    text: Text = Field(description="one line")
    source: Text | None = Field(None, description="its language, such as en; none: any")
    target: Text | None = Field(None, description="language of the translation; none: any")
    bundle: Text | None = Field(None, description="name of a bundle, in place of languages")


class SourcePiece(BaseModel):
    """A piece that the encoder reads; `start` and `end` are characters of the text, null for a symbol."""

    text: str
    start: int | None
    end: int | None
    special: bool


class TargetPiece(BaseModel):
    """A position of the decoder: what it reads, and what it predicts, with the characters of the translation."""

    input: str
    predicted: str
    start: int | None
    end: int | None
    special: bool
    logProbability: float | None = Field(description="of the predicted piece, in nats")


class HeadWeights(BaseModel):
    """All heads of a layer, counted from 0."""

    kind: Literal["encoder", "decoder", "cross"]
    layer: int
    heads: int
    rows: int
    columns: int
    weights: str = Field(description="base64 of little-endian 16-bit shares of 65,535, by head, row and column")


class AttentionAnswer(BaseModel):
    """A text, its translation, and the weights of all layers and heads."""

    source: str
    translation: str
    sourcePieces: list[SourcePiece]
    targetPieces: list[TargetPiece]
    maps: list[HeadWeights]


def add_attention(app: FastAPI, service: Service) -> None:
    """Adds the route."""

    @app.post("/v1/attention", responses={200: {"model": AttentionAnswer}, **REFUSALS})
    async def attention(asked: AttentionRequest, request: Request) -> JSONResponse:
        """What each head attends to while a line is translated."""
        model = service.find(asked.source, asked.target, asked.bundle)
        if not asked.text.strip() or "\n" in asked.text or len(asked.text) > LONGEST:
            raise Unmet(f"attention is shown for one line of at most {LONGEST:,} characters")
        work = service.translate(model, [asked.text], TranslationOptions(attend=True))
        (((best, *_),)) = await unless_gone(request, work)
        found: dict[str, Any] = best["attention"]
        if "failed" in found:
            raise Unmet(found["failed"])
        return JSONResponse(found)
