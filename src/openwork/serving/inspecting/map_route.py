"""The route /v1/map: a model as boxes with their weights, operations, formulas and source lines."""

from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from openwork.models.presets import PRESETS
from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.bodies.typed import Text
from openwork.serving.errors import Unmet
from openwork.serving.responses import unless_gone
from openwork.serving.service import Service


class MapRequest(BaseModel):
    """A bundle or a preset; neither stands for the first bundle."""

    model_config = ConfigDict(extra="forbid")
    bundle: Text | None = Field(None, description="name of a bundle")
    preset: Text | None = Field(None, description="name of a preset, such as paper-base")


class DrawnBox(BaseModel):
    """A box over all layers that it repeats in.

    `weights`: name, shape, number of layers, and the slot of the box that counts them where they are shared.
    `operations`: floating-point operations of its matrix products for one sentence pair.
    """

    slot: str
    role: str
    side: Literal["source", "target"]
    stack: str = ""
    copies: int = 1
    module: str
    weights: list[list[Any]]
    operations: int
    shape: list[int] = Field(description="position and width of what it gives")
    heads: list[int] | None = Field(None, description="number of heads, widths of keys and of values")
    meaning: int


class DrawnMap(BaseModel):
    """A model; `sizes`: of the vocabularies or features, `lengths`: tokens of the sentence pair, both of each side."""

    name: str
    settings: dict[str, Any]
    sizes: list[int]
    lengths: list[int]
    boxes: list[DrawnBox]


class BoxMeaning(BaseModel):
    """What a box calculates: the class of its module, where it is described, and our source lines by their number."""

    kind: str
    formulas: list[str]
    source: str
    exhibits: list[str]
    code: list[int]


class SourceLines(BaseModel):
    """Lines of a file of the package."""

    name: str
    file: str
    first_line: int
    last_line: int
    source: str


class MapAnswer(BaseModel):
    """A map, and the presets of the family with what they are called."""

    model_config = ConfigDict(populate_by_name=True)
    version: int = Field(alias="schema")
    family: dict[str, str]
    maps: list[DrawnMap]
    meanings: list[BoxMeaning]
    code: list[SourceLines]


def add_maps(app: FastAPI, service: Service) -> None:
    """Adds the route. An answer is kept until the bundle is another."""
    kept: dict[tuple[str | None, str, int], dict[str, Any]] = {}

    @app.post("/v1/map", responses={200: {"model": MapAnswer}, **REFUSALS})
    async def draw(asked: MapRequest, request: Request) -> JSONResponse:
        """A model as boxes, with their weights, operations, formulas and source lines."""
        if asked.preset is not None and (asked.bundle is not None or asked.preset not in PRESETS):
            raise Unmet("a map is that of a bundle or of a preset; openwork info lists the presets")
        name = asked.bundle or next(iter(service.models))
        if name not in service.models:
            raise Unmet(f"no bundle has the name {name!r}; there are {', '.join(service.models)}")
        model = service.models[name]
        key = (asked.preset, "", 0) if asked.preset else (None, name, model.changed)
        if key not in kept:
            kept[key] = await unless_gone(request, service.draw_map(model, asked.preset))
        return JSONResponse(kept[key])
