"""The route /v1/beam: the beam search of a line as a tree."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from openwork.decoding.search_tree import Fate, Reason
from openwork.decoding.settings import LengthRule
from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.bodies.line import LineRequest, check_line
from openwork.serving.errors import Unmet
from openwork.serving.options import TranslationOptions, TreeOptions
from openwork.serving.responses import unless_gone
from openwork.serving.service import Service

WIDEST = 16


class BeamRequest(LineRequest):
    """A line to translate, and the width of the search."""

    beam: int | None = Field(None, ge=1, le=WIDEST, description="hypotheses kept; none: as many as the bundle says")


class Branch(BaseModel):
    """A piece after a prefix; `score` (nats) is the sum of the log-probabilities from the root to it.

    `rank`: among the candidates of its step, from 1; 0 of the root and of what a rule of the search excluded.
    """

    id: int
    parent: int | None
    step: int
    piece: str
    logProbability: float
    score: float
    rank: int
    fate: Fate
    reason: Reason = Field(description="why it was dropped; cut: finished without an end symbol")


class FinishedBranch(BaseModel):
    """A finished hypothesis: final = score / penalty + credit."""

    node: int
    text: str
    score: float
    length: int
    penalty: float
    credit: float = Field(description="of the coverage penalty, never above zero")
    final: float
    rank: int


class LengthPenalty(BaseModel):
    """((5 + length) / 6)^alpha with the rule paper, length^alpha with the rule power."""

    alpha: float
    rule: LengthRule


class BeamAnswer(BaseModel):
    """The search of a line: each parent before its children, the best finished hypothesis first."""

    source: str
    beam: int
    lengthPenalty: LengthPenalty
    limit: int = Field(description="the most pieces of a target, its end symbol included")
    stopped: Reason = Field(description="why the search ended; empty where nothing could go on")
    nodes: list[Branch]
    finished: list[FinishedBranch]


def add_beam(app: FastAPI, service: Service) -> None:
    """Adds the route."""

    @app.post("/v1/beam", responses={200: {"model": BeamAnswer}, **REFUSALS})
    async def beam(asked: BeamRequest, request: Request) -> JSONResponse:
        """What the beam search of a line keeps and drops, step by step, and why."""
        model = service.find(asked.source, asked.target, asked.bundle)
        check_line(asked.text)
        options = TranslationOptions(tree=TreeOptions(asked.beam or 0))
        (((found, *_),)) = await unless_gone(request, service.translate(model, [asked.text], options))
        if "failed" in found:
            raise Unmet(found["failed"])
        tree: dict[str, Any] = found["tree"]
        return JSONResponse(tree)
