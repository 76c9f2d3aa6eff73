"""The routes: openwork's own typed JSON under /v1, LibreTranslate's /translate and /languages, and OpenAI's."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse

from openwork import __version__
from openwork.serving.bodies.libretranslate import (
    AUTO,
    REFUSALS,
    DetectedLanguage,
    LibreDetection,
    LibreLanguage,
    LibreTranslation,
    LibreTranslationAnswer,
    body_of,
)
from openwork.serving.bodies.translation import (
    MOST_ALTERNATIVES,
    BundleAnswer,
    StateAnswer,
    TranslatedText,
    TranslationAnswer,
    TranslationRequest,
)
from openwork.serving.document_routes import add_documents
from openwork.serving.documents import translated_document
from openwork.serving.errors import Unmet, WrongToken
from openwork.serving.guarding import App, Guard, is_token
from openwork.serving.inspecting.attention_route import add_attention
from openwork.serving.inspecting.beam_route import add_beam
from openwork.serving.inspecting.map_route import add_maps
from openwork.serving.inspecting.runs_route import add_runs
from openwork.serving.inspecting.trace_route import add_trace
from openwork.serving.measures import Measures
from openwork.serving.openai import add_openai
from openwork.serving.options import BEST, UNBOUND, TextConstraints, TranslationOptions
from openwork.serving.page import docs_page, translator_page
from openwork.serving.responses import add_errors, bearer, unless_gone
from openwork.serving.service import NotTranslated, Part, ServedModel, Service
from openwork.serving.settings import ServerSettings
from openwork.serving.translations import constraints_by_line, joined
from openwork.text.languages import likeliest_language

EVENTS = {"text/event-stream": {"schema": {"type": "string"}}}


def make_app(service: Service, settings: ServerSettings) -> App:
    """The application for an ASGI server, which stops the service at its end."""

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.stop()

    app = FastAPI(title="openwork", version=__version__, docs_url=None, redoc_url=None, lifespan=living)
    measures = Measures(service)
    service.answered = measures.text
    texts = TextRequests(service, settings)
    add_errors(app)
    _add_own(app, texts)
    _add_libretranslate(app, texts)
    add_documents(app, service, settings)
    add_attention(app, service)
    add_beam(app, service)
    add_trace(app, service)
    add_maps(app, service)
    if settings.runs:
        add_runs(app, settings.runs)
    add_openai(app, service, settings)
    _add_state(app, service, measures)
    return Guard(app, settings, measures.request)


@dataclass(frozen=True)
class TextRequests:
    """The texts of requests on their way to the service."""

    service: Service
    settings: ServerSettings

    async def translated(
        self,
        request: Request,
        model: ServedModel,
        texts: Sequence[str],
        options: TranslationOptions = BEST,
        constraints: Callable[[str], TextConstraints] = lambda line: UNBOUND,
    ) -> list[TranslatedText]:
        """The translations of the texts, whose lines are translated one by one; `constraints` gives those of a line."""
        cut = [text.split("\n") for text in texts]
        lines = [line.removesuffix("\r") for one in cut for line in one]
        if len(lines) > self.settings.most_lines:
            raise Unmet(f"{len(lines):,} lines; a request may have {self.settings.most_lines:,}")
        work = self.service.translate(model, lines, options, list(map(constraints, lines)))
        found = iter(await unless_gone(request, work))
        ends = [["\r" * line.endswith("\r") for line in one] for one in cut]
        return [joined([next(found) for _ in one], each) for one, each in zip(cut, ends, strict=True)]

    async def translated_html(self, request: Request, model: ServedModel, text: str) -> str:
        """The translation of a text with tags."""
        work = translated_document(self.service, model, text.encode(), "text.html")
        translated, _ = await unless_gone(request, work)
        return translated.decode()

    def streamed(self, model: ServedModel, text: str, constraints: TextConstraints) -> StreamingResponse:
        """The parts of the translation of one line, as server-sent events."""
        return StreamingResponse(_events(self.service.stream(model, text, constraints)), media_type="text/event-stream")

    async def fields(self, request: Request) -> dict[str, Any]:
        """The fields of LibreTranslate's request, in JSON or of a form. `WrongToken` for a wrong api_key."""
        found = await _fields(request)
        given = bearer(request) or found.get("api_key") or ""
        if not is_token(str(given), self.settings):
            raise WrongToken
        return found


def _add_own(app: FastAPI, texts: TextRequests) -> None:
    @app.post("/v1/translate", responses={200: {"model": TranslationAnswer, "content": EVENTS}, **REFUSALS})
    async def translate(asked: TranslationRequest, request: Request) -> Response:
        """Translate texts."""
        model = texts.service.find(asked.source, asked.target, asked.bundle)
        if problem := asked.problem():
            raise Unmet(problem)
        constraints = constraints_by_line(asked)
        if asked.stream:
            return texts.streamed(model, asked.texts[0], constraints(asked.texts[0]))
        found = await texts.translated(request, model, asked.texts, asked.options, constraints)
        return JSONResponse(TranslationAnswer(bundle=model.name, translations=found).model_dump())

    @app.get("/v1/bundles", responses=REFUSALS)
    async def bundles() -> list[BundleAnswer]:
        """The translators that are served."""
        return _bundles(texts.service)

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        """A page on which texts are translated."""
        settings = texts.settings
        return translator_page(
            _bundles(texts.service), needs_token=bool(settings.token), shows_runs=bool(settings.runs)
        )


def _add_libretranslate(app: FastAPI, texts: TextRequests) -> None:
    @app.post(
        "/translate",
        responses={200: {"model": LibreTranslationAnswer}, **REFUSALS},
        openapi_extra=body_of(LibreTranslation),
    )
    async def libre_translate(request: Request) -> JSONResponse:
        """Translate as LibreTranslate does: q, source, target, alternatives; JSON or a form."""
        asked = await texts.fields(request)
        if (form := asked.get("format", "text")) not in ("text", "html"):
            raise Unmet("format must be text or html")
        given = asked.get("q")
        listed = given if isinstance(given, list) else [given]
        if not listed or not all(isinstance(text, str) for text in listed):
            raise Unmet("q must be a text, or a list of texts")
        source = None if asked.get("source", AUTO) == AUTO else str(asked["source"])
        count = _whole(asked.get("alternatives", 0))
        model = texts.service.find(source, asked.get("target"))
        answer: dict[str, Any]
        if form == "html":
            if count:
                raise Unmet("alternatives are for format=text")
            answer = {"translatedText": [await texts.translated_html(request, model, text) for text in listed]}
        else:
            found = await texts.translated(request, model, listed, TranslationOptions(1 + count))
            answer = {"translatedText": [one.text for one in found]}
            if count:
                answer["alternatives"] = [[other.text for other in one.alternatives] for one in found]
        return JSONResponse(answer if isinstance(given, list) else {key: one[0] for key, one in answer.items()})

    @app.post("/detect", responses=REFUSALS, openapi_extra=body_of(LibreDetection))
    async def detect(request: Request) -> list[DetectedLanguage]:
        """The likeliest language of q, as LibreTranslate answers it."""
        text = (await texts.fields(request)).get("q")
        if not isinstance(text, str):
            raise Unmet("q must be a text")
        if (found := likeliest_language(text)) is None:
            raise Unmet("languages are detected by the package py3langid, which is not installed (the extra languages)")
        return [DetectedLanguage(language=found[0], confidence=round(100 * found[1], 1))]

    @app.get("/languages", responses=REFUSALS)
    async def languages() -> list[LibreLanguage]:
        """The languages, as LibreTranslate lists them."""
        targets: dict[str, list[str]] = {}
        for model in texts.service.translators:
            if model.source and model.target:
                targets.setdefault(model.source, []).append(model.target)
        ordered = sorted(targets.items())
        return [LibreLanguage(code=code, name=code, targets=sorted(set(found))) for code, found in ordered]


def _add_state(app: FastAPI, service: Service, measures: Measures) -> None:
    @app.get("/health", responses=REFUSALS)
    async def health() -> dict[str, str]:
        """Whether the server runs."""
        return {"status": "ok"}

    @app.get("/ready", responses={**REFUSALS, 200: {"model": StateAnswer}, 503: {"model": StateAnswer}})
    async def ready() -> JSONResponse:
        """Whether it takes requests: the bundles are loaded, and it is not ending."""
        is_ready = service.pool.is_ready and not service.is_ending
        return JSONResponse({"status": "ready" if is_ready else "not ready"}, 200 if is_ready else 503)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        """A page on which the routes can be read and tried."""
        return docs_page()

    @app.get("/metrics", response_class=PlainTextResponse, responses=REFUSALS)
    async def metrics() -> PlainTextResponse:
        """Counts and times, for Prometheus."""
        return PlainTextResponse(measures.shown(), media_type="text/plain; version=0.0.4")


def _bundles(service: Service) -> list[BundleAnswer]:
    return [BundleAnswer(name=one.name, source=one.source, target=one.target) for one in service.translators]


def _whole(value: Any) -> int:
    with suppress(TypeError, ValueError, OverflowError):
        if 0 <= int(value) < MOST_ALTERNATIVES:
            return int(value)
    raise Unmet(f"alternatives must be a whole number from 0 to {MOST_ALTERNATIVES - 1}")


async def _fields(request: Request) -> dict[str, Any]:
    """The fields of a request in JSON or of a form."""
    body = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/x-www-form-urlencoded":
            found: Any = {
                key: one[0] if len(one) == 1 else one
                for key, one in parse_qs(body.decode(), keep_blank_values=True).items()
            }
        else:
            found = json.loads(body)
        json.dumps(found, ensure_ascii=False).encode()  # ValueError for half a character (a lone surrogate)
    except (ValueError, RecursionError) as error:
        raise Unmet("the body is neither JSON nor a form") from error
    if not isinstance(found, dict):
        raise Unmet("the body must be a JSON object")
    return found


async def _events(parts: AsyncIterator[Part]) -> AsyncIterator[str]:
    """Server-sent events: the parts, then an end or an error."""
    try:
        async for _, part in parts:
            if isinstance(part, str):
                yield f"data: {json.dumps({'text': part}, ensure_ascii=False)}\n\n"
        yield 'data: {"done": true}\n\n'
    except NotTranslated as error:
        yield f"data: {json.dumps({'error': str(error)})}\n\n"
