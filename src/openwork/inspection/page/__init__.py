"""The page with a script: one HTML file, with what the folder `page` of the source is built into, and its content.

It has a screen for each content that it is given: `step` (a worked example, calculated anew in the page), and `served`
(a translator, asked over HTTP). Only the second asks for anything, and only where it came from.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from openwork.base.pages import render
from openwork.inspection.page.content import script_hash, script_text

OFFLINE, SERVED = "", " connect-src 'self';"
"""What the page may ask for: nothing, or routes of the server that it came from."""


def app_page(title: str, content: dict[str, Any], language: str = "en", connects: str = OFFLINE) -> str:
    """The page, complete in itself.

    Args:
        title: a sentence of the catalogue, or any other text; shown until the script runs.
        content: of each screen, by its name, as plain JSON.
        language: what the page says while it has no script: "en" or "zh". With one, it follows the browser.
        connects: `OFFLINE` or `SERVED`.
    """
    return render(
        "app.html",
        language,
        title=title,
        policy=Markup(page_policy(connects)),
        style=Markup(_built("style.css")),
        script=Markup(_built("page.js")),
        content=Markup(script_text(content)),
    )


def in_a_frame(page: str) -> str:
    """A whole page as an element of another, such as a notebook: its style and script stay apart."""
    return str(Markup('<iframe srcdoc="{}" style="width:100%;height:640px;border:0"></iframe>').format(page))


@cache
def page_policy(connects: str = OFFLINE) -> str:
    """The page's Content-Security-Policy: its own script runs and no other."""
    own = script_hash(_built("page.js"))
    return (
        f"default-src 'none'; script-src '{own}'; style-src 'unsafe-inline'; img-src data: blob:;{connects} "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _built(name: str) -> str:
    return files(__name__).joinpath("static", name).read_text(encoding="utf-8").strip()
