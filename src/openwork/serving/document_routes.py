"""Routes for documents: openwork's own /v1/documents, and LibreTranslate's /translate_file."""

import json
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from openwork.serving.bodies.libretranslate import AUTO, REFUSALS, LibreFile
from openwork.serving.documents import KeptDocuments, base_name, translated_document
from openwork.serving.errors import Unmet, WrongToken
from openwork.serving.guarding import DOWNLOADS, is_token
from openwork.serving.responses import bearer, unless_gone
from openwork.serving.service import Service
from openwork.serving.settings import ServerSettings

BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "source": {"type": "string"},
                        "target": {"type": "string"},
                        "api_key": {"type": "string"},
                    },
                }
            }
        },
    }
}
BODY = {"requestBody": {"required": True, "content": BYTES}}


def add_documents(app: FastAPI, service: Service, settings: ServerSettings) -> None:
    """Adds the routes."""
    kept = KeptDocuments()

    @app.post(
        "/v1/documents", response_class=Response, openapi_extra=BODY, responses={200: {"content": BYTES}, **REFUSALS}
    )
    async def documents(
        request: Request,
        name: str = Query(description="of the file: its ending is the format, such as page.html"),
        source: str | None = None,
        target: str | None = None,
        bundle: str | None = None,
        *,
        only_untranslated: bool = False,
    ) -> Response:
        """Translate the document in the body. The header openwork-report has counts of its texts."""
        model = service.find(source, target, bundle)
        content = await request.body()
        work = translated_document(service, model, content, name, only_untranslated=only_untranslated)
        translated, report = await unless_gone(request, work)
        counts = report.to_json() | {"doubts": len(report.doubts)}
        return _attached(base_name(name), translated, {"openwork-report": json.dumps(counts)})

    @app.post("/translate_file", openapi_extra=FORM, responses=REFUSALS)
    async def translate_file(request: Request) -> LibreFile:
        """Translate a document as LibreTranslate does: file, source, target of a form; the answer says where it is."""
        fields = await _form(request)
        if not is_token(fields.get("api_key") or bearer(request), settings):
            raise WrongToken
        if not isinstance(file := fields.get("file"), UploadFile):
            raise Unmet("the form has no file")
        source = fields.get("source") or AUTO
        model = service.find(None if source == AUTO else source, fields.get("target"))
        name = base_name(file.filename or "")
        translated, _ = await unless_gone(request, translated_document(service, model, await file.read(), name))
        key = kept.keep(name, translated)
        return LibreFile(translatedFileUrl=f"{str(request.base_url).rstrip('/')}{DOWNLOADS}{key}")

    @app.get(f"{DOWNLOADS}{{key}}", response_class=Response, responses={200: {"content": BYTES}, **REFUSALS})
    async def download_file(key: str) -> Response:
        """Fetch what /translate_file has translated; it is kept for ten minutes."""
        if (found := kept.find(key)) is None:
            raise HTTPException(404, "there is no such document, or no longer")
        return _attached(found.name, found.content)


def _attached(name: str, content: bytes, headers: dict[str, str] | None = None) -> Response:
    shown = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Response(
        content, media_type="application/octet-stream", headers={"content-disposition": shown, **(headers or {})}
    )


async def _form(request: Request) -> dict[str, Any]:
    """The fields of a form with one file."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Unmet("the body must be a form (multipart/form-data) with a file")
    try:
        return dict(await request.form(max_files=1, max_fields=16))
    except (HTTPException, AssertionError, ValueError) as error:  # of a form that is damaged
        raise Unmet(f"the form cannot be read: {getattr(error, 'detail', error)}") from error
