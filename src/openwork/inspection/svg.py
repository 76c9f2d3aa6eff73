"""Writing SVG by hand: elements, escaping, and how wide a text will be.

Text stays text, so that a figure can be searched, copied and read aloud.
"""

import re
import unicodedata
from xml.sax.saxutils import escape, quoteattr

from markupsafe import Markup

from openwork.base.pages import FONTS, PAPER, dark_style, isolated, paint
from openwork.base.phrases import Beside

HEADING, HEADING_LINE = 15.0, 20.0  # of a drawing's title: the size, and the height of a line
_WORD = re.compile(r"[\u2e80-\uffef]\s*|[^\s\u2e80-\uffef]+\s*")
NO_WIDTH = {"Mn", "Me", "Cf"}  # categories of characters


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """One element. An underscore in an attribute's name stands for a hyphen, one at its end is dropped (`class_`);
    an attribute that is None is left out. Children that are not `Markup` are escaped. What is written is SVG and
    HTML alike: an element without children is closed by a tag of its own.
    """
    given = {
        name.rstrip("_").replace("_", "-"): isolated(value) if isinstance(value, str) else number(value)
        for name, value in attributes.items()
        if value is not None
    }
    written = "".join(f" {name}={quoteattr(value)}" for name, value in given.items())
    inside = "".join(child if isinstance(child, Markup) else text(child) for child in children)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")


def text(content: str) -> Markup:
    """A plain string as markup: `<` becomes `&lt;`, what XML forbids U+FFFD; what turns the order of text is shown.

    Text from right to left is isolated from what stands beside it.
    """
    return Markup(escape(isolated(content)))


def number(value: float) -> str:
    """At most two decimals, which is a hundredth of a pixel; no trailing zeros and no minus zero."""
    return f"{value:z.2f}".rstrip("0").rstrip(".")


def figure(width: float, height: float, title: str, *children: Markup) -> Markup:
    """A whole picture with its title (also for screen readers), its fonts and its two themes."""
    return element(
        "svg",
        element("title", title),
        element("style", Markup(dark_style())),
        element("rect", width=width, height=height, fill=PAPER.light, class_="fill-paper"),
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        class_="openwork-figure",
        role="img",
        aria_label=title,
        font_family=FONTS,
    )


def heading(title: str, x: float, y: float, width: float) -> tuple[Markup, float]:
    """The title above a drawing, in as many lines as this width needs, and how much they take beyond the first."""
    look = {"x": x, "y": y, "font_size": HEADING, "font_weight": 600, **paint("ink")}
    lines = [title] if text_width(title, HEADING) <= width else broken(title, width, HEADING)
    if len(lines) == 1:
        return element("text", title, **look), 0.0
    parts = [element("tspan", line, x=x, dy=HEADING_LINE if place else None) for place, line in enumerate(lines)]
    return element("text", *parts, **look), HEADING_LINE * (len(lines) - 1)


def broken(content: str, width: float, size: float) -> list[str]:
    """The text in lines of at most this width, as far as its words allow; Chinese breaks between any two characters."""
    lines = [""]
    for word in _WORD.findall(content):
        if lines[-1] and text_width(lines[-1] + word.rstrip(), size) > width:
            lines.append("")
        lines[-1] += word
    return [line.strip() for line in lines]


def text_width(content: str, size: float) -> float:
    """About how wide a text is in a sans-serif font of this size: wide characters count 1 em, others 0.6."""
    shown = (one for one in content if not unicodedata.combining(one) and unicodedata.category(one) not in NO_WIDTH)
    return size * sum(1.0 if unicodedata.east_asian_width(one) in {"W", "F"} else 0.6 for one in shown)


def shortened(content: str, most: int) -> str:
    """At most so many characters, the last an ellipsis where some were cut."""
    if len(content) <= most:
        return content
    if not isinstance(content, Beside):
        return content[: most - 1] + "…"
    first, *others = content.parts
    rest = most - len(first) - len(content.between)
    if rest <= 0 or not others:
        return shortened(f"{first}…", most)
    return Beside(first, shortened(Beside(*others, between=content.between), rest), between=content.between)
