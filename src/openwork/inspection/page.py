"""One HTML file that opens from the disk, asks nothing of any network and runs no script, in both themes."""

from collections.abc import Iterable
from importlib import resources
from string import Template

from openwork import __version__
from openwork.base.outputs import PAGE_MARK
from openwork.inspection.look import FONTS, NUMBER_FONTS, ROLES
from openwork.inspection.svg import Markup, element, text

TEMPLATE = "page.html"
FOOTER = "Written by openwork {}. This file is complete in itself and loads nothing."


def page(title: str, body: Iterable[Markup], language: str = "en", *, style: str = "", footer: str = FOOTER) -> str:
    """The whole file. `language`: of its words; `style`: more for the style sheet; `footer`: `FOOTER` translated."""
    template = resources.files("openwork.inspection").joinpath(TEMPLATE).read_text("utf-8")
    return Template(template).substitute(
        language=text(language or "en").replace('"', ""),
        mark=PAGE_MARK,
        title=text(title),
        light_colours=" ".join(f"--{role}: {colour.light};" for role, colour in ROLES.items()),
        dark_colours=" ".join(f"--{role}: {colour.dark};" for role, colour in ROLES.items()),
        fonts=FONTS,
        number_fonts=NUMBER_FONTS,
        style=style,
        body="\n".join(part for part in body if part),
        footer=text(footer.format(__version__)),
    )


def scrolling(name: str, inside: Markup) -> Markup:
    """A box that scrolls by itself where its content is wider than the page; reachable by keyboard."""
    return element("div", inside, class_="scroll", tabindex="0", role="region", aria_label=name)
