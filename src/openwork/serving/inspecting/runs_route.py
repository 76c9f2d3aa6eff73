"""The route /v1/runs: trainings beside each other, as far as they are recorded now."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from openwork import __version__
from openwork.base.errors import OpenworkError
from openwork.runs.compared.comparison import runs_content
from openwork.runs.compared.found import read_runs
from openwork.serving.bodies.libretranslate import REFUSALS
from openwork.serving.errors import Unmet
from openwork.serving.guarding import App, Guard
from openwork.serving.page import runs_page
from openwork.serving.responses import add_errors
from openwork.serving.settings import ServerSettings


class ShownValidation(BaseModel):
    """A validation: figures that were not taken are null."""

    step: int
    seconds: float | None = Field(description="of training before it")
    figures: dict[str, float | None]
    sample: tuple[str, str, str] | None = Field(description="source, reference, output")


class ShownRun(BaseModel):
    """A training. `wanted`: its number of updates; `updated`: when its last line was written, in Unix seconds."""

    name: str
    is_finished: bool
    made: int
    wanted: int | None
    updated: float | None
    settings: dict[str, Any]
    every: int = Field(description="each so many lines of the log are points of the curves")
    curves: dict[str, list[float | None]]
    validations: list[ShownValidation]
    score_name: str
    damaged: list[int] = Field(description="lines of the log that are no records")
    metric: str
    best: int | None = Field(description="place of the best validation")


def add_runs(app: FastAPI, folders: Sequence[Path]) -> None:
    """Adds the route for the runs in these folders."""

    @app.get("/v1/runs", responses={200: {"model": list[ShownRun]}, **REFUSALS})
    async def runs() -> Response:
        """Trainings as far as they are recorded now."""
        try:
            found = await asyncio.to_thread(lambda: runs_content(read_runs(folders)))
        except OpenworkError as error:
            raise Unmet(error.sentence) from error
        return JSONResponse(found)


def make_runs_app(folders: Sequence[Path], settings: ServerSettings) -> App:
    """An application that serves the page of these runs and nothing else."""
    app = FastAPI(title="openwork", version=__version__, docs_url=None, redoc_url=None)
    add_errors(app)
    add_runs(app, folders)

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        """The runs."""
        return runs_page()

    return Guard(app, settings, lambda path, status, seconds: None)
