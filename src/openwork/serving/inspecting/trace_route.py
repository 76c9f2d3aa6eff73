"""The route /v1/explain: the steps of a line's translation, each with all its numbers."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from openwork.base.limits import LAYERS
from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.bodies.line import LineRequest, check_line
from openwork.serving.errors import Unmet
from openwork.serving.options import TraceOptions, TranslationOptions
from openwork.serving.responses import unless_gone
from openwork.serving.service import Service


class TraceRequest(LineRequest):
    """A line to translate, and the steps to show."""

    layer: int | None = Field(
        None, ge=0, le=LAYERS, description="all steps of this layer, from 0; none: the results of each part of all"
    )


class InBothLanguages(BaseModel):
    """A sentence in English and in Chinese."""

    en: str
    zh: str


class TracedStep(BaseModel):
    """A value, and where it comes from."""

    name: str = Field(description="unique, with dots, such as encoder.layers.0.self_attention.weights")
    title: InBothLanguages
    equation: str
    source: str = Field(description="who says so: a paper and its equation")
    code: str = Field(description="the function or class that made it")
    inputs: list[str] = Field(description="names of the steps that went in")
    parameters: list[str] = Field(description="names of the weights that went in")
    axes: list[str]
    shape: list[int]
    labels: dict[str, int] = Field(description="the list of names that labels an axis")
    isWhole: bool = Field(description="whole numbers")
    areShares: bool = Field(description="each row is a distribution")
    isOnPatches: bool = Field(description="the last two axes are rows and columns of a picture")
    isDouble: bool = Field(description="64 bits a number, not 32")
    value: str = Field(description="base64 of little-endian floats")
    printed: list[None] = Field(description="figures of a document for the value; a translation has none")
    said: list[None] = Field(description="claims of a document about it; a translation has none")


class TraceAnswer(BaseModel):
    """The steps in the order of calculation."""

    name: str
    title: InBothLanguages
    assumptions: list[InBothLanguages]
    names: list[list[str]]
    steps: list[TracedStep]
    picture: None = None


def add_trace(app: FastAPI, service: Service) -> None:
    """Adds the route."""

    @app.post("/v1/explain", responses={200: {"model": TraceAnswer}, **REFUSALS})
    async def trace(asked: TraceRequest, request: Request) -> JSONResponse:
        """How the translation of a line is calculated, step by step."""
        model = service.find(asked.source, asked.target, asked.bundle)
        check_line(asked.text)
        options = TranslationOptions(trace=TraceOptions(asked.layer))
        (((found, *_),)) = await unless_gone(request, service.translate(model, [asked.text], options))
        answer: dict[str, Any] = found["trace"]
        if "failed" in answer:
            raise Unmet(answer["failed"])
        return JSONResponse(answer)
