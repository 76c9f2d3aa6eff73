"""The route /v1/attention: what each head attends to while a text is translated."""

from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.bodies.line import LineRequest, check_line
from openwork.serving.bodies.typed import Text
from openwork.serving.errors import Unmet
from openwork.serving.options import AttentionOptions, TranslationOptions
from openwork.serving.responses import unless_gone
from openwork.serving.service import Service

HEAD = r"^$|^(encoder|decoder|cross):[0-9]{1,4}:[0-9]{1,4}$"


class AttentionRequest(LineRequest):
    """A line to translate, and what is wanted of it."""

    translation: Text | None = Field(None, description="one line, in place of the bundle's own translation")
    why: bool = Field(
        False, description="which pieces of the source it comes from, by several methods, and how good each is"
    )
    without: str = Field(
        "", pattern=HEAD, description="a head, such as cross:0:3: the translation is searched again without it"
    )


class ReadPiece(BaseModel):
    """A piece that the encoder reads; `start` and `end` are characters of the text, null for a symbol."""

    text: str
    start: int | None
    end: int | None
    special: bool


class PredictedPiece(BaseModel):
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


class HeadNumbers(BaseModel):
    """A head's entropy (nats) and distance (positions), its mean weight at offsets -1, 0 and +1, and its largest."""

    kind: Literal["encoder", "decoder", "cross"]
    layer: int
    head: int
    entropy: float
    distance: float
    before: float
    same: float
    after: float
    largest: float


class WrittenMatrix(BaseModel):
    """Weights by row and column, written as those of `HeadWeights`."""

    rows: int
    columns: int
    weights: str


class WrittenFlows(BaseModel):
    """The maximum flow to each piece of the source; null: `flowReason` says why."""

    encoder: WrittenMatrix | None
    cross: WrittenMatrix | None


class WrittenLayers(BaseModel):
    """Attention through all layers of the encoder, from its outputs and from target positions: rollout, and flow."""

    encoder: WrittenMatrix
    cross: WrittenMatrix
    flow: WrittenFlows = Field(description="with why, of at most 40 pieces")
    flowReason: str


class MethodScores(BaseModel):
    """The scores of the source's pieces by one method: nats for gradients and occlusion, shares of 1 for the others."""

    method: str
    scores: list[float]


class ScoredPieces(BaseModel):
    """What a translation comes from; `leftOut`: why a method is missing."""

    position: int | None
    value: float
    baseline: float
    steps: int
    methods: list[MethodScores]
    leftOut: dict[str, str]


class WrittenCurve(BaseModel):
    """The log-probability of the translation (nats) while pieces are taken away in an order, and the area under it."""

    method: str
    order: list[int]
    logProbabilities: list[float]
    area: float


class Deletion(BaseModel):
    """A curve for each method, the last one by chance: the mean of so many seeds."""

    replacement: str
    seeds: int
    curves: list[WrittenCurve]


class OtherTranslation(BaseModel):
    """The translation without a head."""

    head: str
    translation: str


class AttentionAnswer(BaseModel):
    """A text, its translation, and the weights of all layers and heads."""

    source: str
    translation: str
    sourcePieces: list[ReadPiece]
    targetPieces: list[PredictedPiece]
    maps: list[HeadWeights]
    facts: list[HeadNumbers]
    through_layers: WrittenLayers | None = Field(description="null where the encoder has no weights between pieces")
    attributions: ScoredPieces | None = None
    deletion: Deletion | None = None
    without: OtherTranslation | None = None


def add_attention(app: FastAPI, service: Service) -> None:
    """Adds the route."""

    @app.post("/v1/attention", responses={200: {"model": AttentionAnswer}, **REFUSALS})
    async def attention(asked: AttentionRequest, request: Request) -> JSONResponse:
        """What each head attends to while a line is translated."""
        model = service.find(asked.source, asked.target, asked.bundle)
        check_line(asked.text)
        if asked.translation is not None:
            check_line(asked.translation)
        options = TranslationOptions(attention=AttentionOptions(asked.translation, asked.why, asked.without))
        (((best, *_),)) = await unless_gone(request, service.translate(model, [asked.text], options))
        found: dict[str, Any] = best["attention"]
        if "failed" in found:
            raise Unmet(found["failed"])
        return JSONResponse(found)
