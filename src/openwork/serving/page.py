"""The server's two pages, neither of which needs another server: / to translate, /docs to read and try the routes."""

import base64
import hashlib
import re
from functools import cache
from typing import Any

from starlette.responses import HTMLResponse

from openwork.base.pages import render
from openwork.inspection.page import SERVED, app_page, page_policy
from openwork.serving.bodies.translation import BundleAnswer


def translator_page(bundles: list[BundleAnswer], *, needs_token: bool, shows_runs: bool) -> HTMLResponse:
    """The page on which texts are translated. Where a token is needed, it asks for the bundles when it has one."""
    shown = [] if needs_token else [one.model_dump() for one in bundles]
    content = {"served": {"bundles": shown, "needsToken": needs_token}}
    return _page(content | ({"liveRuns": True} if shows_runs else {}))


def runs_page() -> HTMLResponse:
    """The page that asks for runs."""
    return _page({"liveRuns": True})


def _page(content: dict[str, Any]) -> HTMLResponse:
    policy = f"{page_policy(SERVED)}; frame-ancestors 'none'"
    return HTMLResponse(app_page("openwork", content, connects=SERVED), headers={"content-security-policy": policy})


@cache
def docs_page() -> HTMLResponse:
    """The page, with a policy under which its own script and style run and no other."""
    content = render("interface.html", title="openwork: the interface of this server")
    policy = (
        f"default-src 'none'; script-src {_hash(content, 'script')}; style-src {_hash(content, 'style')}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(content, headers={"content-security-policy": policy})


def _hash(content: str, element: str) -> str:
    """The hash of what stands in the only element of this name, as a policy names it."""
    (inside,) = re.findall(f"<{element}>(.*?)</{element}>", content, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"
