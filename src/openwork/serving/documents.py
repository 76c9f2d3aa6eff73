"""Documents of requests, translated as `openwork translate --source` does it, by the server's workers."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from secrets import token_urlsafe
from threading import Event
from typing import Any

from openwork.base.errors import OpenworkError
from openwork.documents.alignment import UNALIGNED, Alignment
from openwork.documents.catalogue import format_of
from openwork.documents.document import Document, DocumentSettings
from openwork.documents.segments import marks_of
from openwork.inference.documents.report import DocumentReport
from openwork.inference.documents.translating import TranslatingOptions, translate_document
from openwork.inference.translation import Translation
from openwork.serving.errors import Unmet
from openwork.serving.messages import translation_of
from openwork.serving.options import TextConstraints, TranslationOptions
from openwork.serving.scheduling import Full
from openwork.serving.service import ServedModel, Service

AT_ONCE = 256  # sentences of a document that wait at a time, so that other requests come between
AGAIN = 0.5  # seconds until a document's next sentences are tried again, where the queue is full
KEPT_BYTES, KEPT_SECONDS = 64 << 20, 600.0  # of documents that wait to be fetched


async def translated_document(
    service: Service, model: ServedModel, content: bytes, name: str, *, only_untranslated: bool = False
) -> tuple[bytes, DocumentReport]:
    """The translation of a document, whose name has the ending of its format, and what was done.

    Unmet for what cannot be read; Full where the queue is, before the first sentence. When it is cancelled, its
    sentences are given up.
    """
    settings = DocumentSettings(model.source or None, model.target or None)
    way = _Way(service, model, asyncio.get_running_loop())
    options = TranslatingOptions(settings.source, settings.target, only_untranslated=only_untranslated)

    def work() -> tuple[bytes, DocumentReport]:
        path = Path(base_name(name))
        document = format_of(path)(content, path, settings)
        way.has_marks = _has_marks(document)
        return translate_document(document, way, options)

    try:
        return await asyncio.to_thread(work)
    except OpenworkError as error:
        raise Unmet(error.sentence) from error
    finally:
        way.cancel()


def base_name(name: str) -> str:
    """The last part of a path of any system."""
    return PurePosixPath(PureWindowsPath(name).name).name


def _has_marks(document: Document) -> bool:
    return any(True for segment in document.segments for _ in marks_of(segment.parts))


class _Way:
    """A `SentenceTranslator` in a thread, whose sentences the service translates in its own."""

    def __init__(self, service: Service, model: ServedModel, loop: asyncio.AbstractEventLoop) -> None:
        self.service, self.model, self.loop = service, model, loop
        self.has_marks = True
        self._alignments: dict[tuple[str, str], Alignment] = {}
        self._pending: Future[list[list[dict[str, Any]]]] | None = None
        self._is_over = Event()
        self._has_begun = False

    def translate(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[Translation]:
        """The best translation of each, with its flags."""
        found = []
        for first in range(0, len(texts), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            for text, one in zip(texts[part], self._answers(texts[part], required[part]), strict=True):
                found.append(translation_of(one))
                if "alignment" in one:
                    self._alignments[text, one["text"]] = Alignment(**one["alignment"])
        return found

    def align(self, sources: Sequence[str], translations: Sequence[str]) -> list[Alignment]:
        """The alignments that came with the translations."""
        return [self._alignments.get(pair, UNALIGNED) for pair in zip(sources, translations, strict=True)]

    def cancel(self) -> None:
        """Gives up what is under way."""
        self._is_over.set()
        if self._pending is not None:
            self._pending.cancel()

    def _answers(self, texts: Sequence[str], required: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
        while not self._is_over.is_set():
            constraints = [TextConstraints(required=one) for one in required]
            options = TranslationOptions(align=self.has_marks)
            asked = self.service.translate(self.model, texts, options, constraints)
            self._pending = asyncio.run_coroutine_threadsafe(asked, self.loop)
            try:
                found = self._pending.result()
            except Full:
                if not self._has_begun:
                    raise
                self._is_over.wait(AGAIN)
                continue
            self._has_begun = True
            return [best for best, *_ in found]
        raise CancelledError


@dataclass(frozen=True)
class KeptDocument:
    """A translated document that waits to be fetched, until `ends` (monotonic seconds)."""

    name: str
    content: bytes
    ends: float


class KeptDocuments:
    """Translated documents by names that cannot be guessed; the oldest go where there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, KeptDocument] = OrderedDict()

    def keep(self, name: str, content: bytes) -> str:
        """The name by which it can be fetched, with the ending that it had."""
        key = f"{token_urlsafe(24)}{Path(name).suffix.lower()}"
        self._kept[key] = KeptDocument(name, content, time.monotonic() + KEPT_SECONDS)
        self._forget()
        return key

    def find(self, key: str) -> KeptDocument | None:
        self._forget()
        return self._kept.get(key)

    def _forget(self) -> None:
        now = time.monotonic()
        size = sum(len(one.content) for one in self._kept.values())
        while self._kept:
            oldest = next(iter(self._kept.values()))
            if oldest.ends > now and (size <= KEPT_BYTES or len(self._kept) == 1):
                return
            size -= len(oldest.content)
            self._kept.popitem(last=False)
