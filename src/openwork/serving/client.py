"""Asks a server of openwork for translations. No torch and no server's packages here, so that it starts at once."""

import http.client
import json
import ssl
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from openwork.base.errors import OpenworkError, UsageError
from openwork.base.messages import msg
from openwork.inference.translation import Translation

MOST_TEXTS = 500  # of a request
LONGEST_WAIT = 30  # seconds between two attempts, where the server is full


class ServerClient:
    """One connection to a server, which is made anew where it was lost.

    `source`, `target` and `bundle` choose among the server's bundles. `patience`: seconds for which a full server is
    asked again.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        source: str | None = None,
        target: str | None = None,
        bundle: str | None = None,
        patience: float = 300.0,
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url}: not an address", hint="such as http://127.0.0.1:5000", code="U141")
        self.url, self.patience = url, patience
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._chosen = {"source": source, "target": target, "bundle": bundle}
        self._path = f"{parts.path.rstrip('/')}/v1/translate"
        secure = {"context": ssl.create_default_context()} if parts.scheme == "https" else {}
        kind: Any = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection: http.client.HTTPConnection = kind(parts.hostname, parts.port, timeout=120, **secure)

    def translate(self, texts: Sequence[str], best: int = 1, required: Sequence[str] = ()) -> list[list[Translation]]:
        """For each text its best translations, best first; `pieces` and `source_pieces` stay with the server.

        UsageError for what the server refuses, OpenworkError where it is not reached or cannot translate.
        """
        found: list[list[Translation]] = []
        for first in range(0, len(texts), MOST_TEXTS):
            asked = {"text": list(texts[first : first + MOST_TEXTS]), "best": best, "required": list(required)}
            answer = self._asked(json.dumps({**asked, **self._chosen}).encode())
            found += [_translations(one) for one in answer["translations"]]
        return found

    def _asked(self, body: bytes) -> Any:
        last = time.monotonic() + self.patience
        while True:
            status, after, content = self._answer(body)
            if status != 429 or time.monotonic() > last:
                break
            time.sleep(min(after, LONGEST_WAIT))
        try:
            found = json.loads(content)
            problem = "" if status == 200 else str(found["error"])
        except (ValueError, KeyError, TypeError):
            found, problem = None, msg(f"it answered with status {status}, and not as openwork serve does")
        if status == 200 and found is not None:
            return found
        if 400 <= status < 500:
            raise UsageError(
                f"{self.url}: the server refuses this request",
                why=problem,
                hint="openwork serve --help says what a server may be asked for",
                code="U144",
            )
        raise OpenworkError(
            f"{self.url}: the server gives no translation",
            why=problem,
            hint="its log may say more; openwork serve BUNDLE starts another one",
            code="E053",
        )

    def _answer(self, body: bytes) -> tuple[int, int, bytes]:
        """Status, seconds to wait, and content. A connection that the server has closed meanwhile is made once more."""
        for is_last in (False, True):
            try:
                self._connection.request("POST", self._path, body, self._headers)
                found = self._connection.getresponse()
                after = found.headers.get("Retry-After", "1")
                return found.status, int(after) if after.isdigit() else 1, found.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if is_last:
                    raise OpenworkError(
                        f"{self.url}: no server answers",
                        why=str(error) or type(error).__name__,
                        hint="openwork serve BUNDLE starts one",
                        code="E054",
                    ) from error
        raise AssertionError("the second attempt returns or raises")


def _translations(answer: dict[str, Any]) -> list[Translation]:
    ranked = ("text", "score", "log_probability", "finished")
    others = [Translation(*(one[key] for key in ranked)) for one in answer["alternatives"]]
    first = Translation(
        answer["text"], answer["score"] or 0.0, answer["log_probability"] or 0.0, answer["finished"], answer["cut"],
        tuple(answer["missing"]), answer["problem"], flags=tuple(answer["flags"]),
    )  # fmt: skip
    return [first, *others]
