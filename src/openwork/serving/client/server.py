"""Asks a server of openwork for translations."""

import http.client
import json
import ssl
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from openwork.base.errors import OpenworkError, UsageError
from openwork.base.messages import msg
from openwork.inference.translation import Translation
from openwork.serving.client.daemon import DAEMON, DaemonConnection, daemon_socket
from openwork.serving.options import UNBOUND, TextConstraints

MOST_TEXTS = 500  # of a request
LONGEST_WAIT = 30  # seconds between two attempts, where the server is full
TIMEOUT = 120.0  # seconds for a server to answer


class ServerClient:
    """One connection to a server, which is made anew where it was lost.

    `url`: its address, or "daemon" for that of `openwork daemon`. `source`, `target` and `bundle` choose among the
    server's bundles. `patience`: seconds for which a full server is asked again.
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
        self.url, self.patience = url, patience
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._chosen = {"source": source, "target": target, "bundle": bundle}
        self._connection, self._root = _connection(url)

    def translate(
        self,
        texts: Sequence[str],
        best: int = 1,
        constraints: TextConstraints = UNBOUND,
        terms: Mapping[str, str] | None = None,
    ) -> list[list[Translation]]:
        """For each text its best translations, best first; `pieces` and `source_pieces` stay with the server.

        `terms`: what the translation of a text with the term must contain. UsageError for what the server refuses,
        OpenworkError where it is not reached or cannot translate.
        """
        asked = {"best": best, "terms": dict(terms or {}), **vars(constraints)}
        return [_translations(one) for one in self.answers(texts, asked)]

    def translate_each(self, texts: Sequence[str], required: Sequence[tuple[str, ...]], **asked: Any) -> list[Any]:
        """What the server answers to each text, with its own required texts; errors as of `translate`."""
        groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, one in enumerate(required):
            groups[one].append(place)
        found: list[Any] = [None] * len(texts)
        for one, places in groups.items():
            answers = self.answers([texts[place] for place in places], {"required": one, **asked})
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def answers(self, texts: Sequence[str], asked: Mapping[str, Any]) -> list[Any]:
        """What the server answers to each text, for a request with these fields; errors as of `translate`."""
        found = []
        for first in range(0, len(texts), MOST_TEXTS):
            body = {"text": list(texts[first : first + MOST_TEXTS]), **asked, **self._chosen}
            found += self._asked("POST", "/v1/translate", json.dumps(body).encode())["translations"]
        return found

    def languages(self) -> tuple[str | None, str | None]:
        """Those of the bundle that the server translates with, as far as it knows them."""
        for one in self._asked("GET", "/v1/bundles", None):
            known = one | {"bundle": one["name"]}
            if all(wanted in (None, known[key]) for key, wanted in self._chosen.items()):
                return one["source"] or None, one["target"] or None
        return self._chosen["source"], self._chosen["target"]

    def _asked(self, method: str, path: str, body: bytes | None) -> Any:
        last = time.monotonic() + self.patience
        while True:
            status, after, content = self._answer(method, path, body)
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

    def _answer(self, method: str, path: str, body: bytes | None) -> tuple[int, int, bytes]:
        """Status, seconds to wait, and content. A connection that the server has closed meanwhile is made once more."""
        for is_last in (False, True):
            try:
                self._connection.request(method, f"{self._root}{path}", body, self._headers)
                found = self._connection.getresponse()
                after = found.headers.get("Retry-After", "1")
                return found.status, int(after) if after.isdigit() else 1, found.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if is_last:
                    raise OpenworkError(
                        f"{self.url}: no server answers",
                        why=str(error) or type(error).__name__,
                        hint=f"openwork {DAEMON if self.url == DAEMON else 'serve'} BUNDLE starts one",
                        code="E054",
                    ) from error
        raise AssertionError("the second attempt returns or raises")


def _connection(url: str) -> tuple[http.client.HTTPConnection, str]:
    """The connection, not made yet, and what paths begin with. UsageError for what is no address."""
    if url == DAEMON:
        return DaemonConnection(daemon_socket(), TIMEOUT), ""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url}: not an address", hint="such as http://127.0.0.1:5000", code="U141")
    secure = {"context": ssl.create_default_context()} if parts.scheme == "https" else {}
    kind: Any = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=TIMEOUT, **secure), parts.path.rstrip("/")


def best_of(answer: Mapping[str, Any]) -> Translation:
    """The best translation of a server's answer to a text."""
    return Translation(
        answer["text"], answer["score"] or 0.0, answer["log_probability"] or 0.0, answer["finished"], answer["cut"],
        tuple(answer["missing"]), answer["problem"], flags=tuple(answer["flags"]),
    )  # fmt: skip


def _translations(answer: Mapping[str, Any]) -> list[Translation]:
    ranked = ("text", "score", "log_probability", "finished")
    return [best_of(answer), *(Translation(*(one[key] for key in ranked)) for one in answer["alternatives"])]
