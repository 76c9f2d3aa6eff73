"""The page /docs, on which the routes can be read and tried: one file, which needs nothing from another server."""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

from starlette.responses import HTMLResponse


@cache
def docs_page() -> HTMLResponse:
    """The page, with a policy under which its own script and style run and no other."""
    content = (files("openwork") / "templates" / "interface.html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src {_hash(content, 'script')}; style-src {_hash(content, 'style')}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(content, headers={"content-security-policy": policy})


def _hash(content: str, element: str) -> str:
    """The hash of what stands in the only element of this name, as a policy names it."""
    (inside,) = re.findall(f"<{element}>(.*?)</{element}>", content, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"
