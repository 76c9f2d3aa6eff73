"""HTML pages from templates (Jinja2): complete in themselves, every value escaped, in both themes.

None has a script but `app.html`, whose one script is built from the folder `page` of the source, and the server's
`interface.html`.

Blue, orange and green survive red-green blindness only with a second sign, so each series of a chart has its own
pattern of dashes as well. Pictures carry the light colours in the attributes of each element, for readers that know no
style sheets, and a style sheet replaces them where the dark theme is wanted.

The templates are in openwork/templates; `base.html` is the base of all whole pages, `page.html` that of those without
a script. The style that all share is `base.css`, which the built page imports. Jinja2 is imported when the first
page is written. Pictures are not templates: `inspection.svg` draws them from numbers.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from openwork import __version__
from openwork.base.messages import LANGUAGES, catalogue
from openwork.base.outputs import PAGE_MARK
from openwork.base.phrases import Beside
from openwork.base.printing import escaped

if TYPE_CHECKING:
    from jinja2 import Environment

FONTS = 'system-ui, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif'
NUMBER_FONTS = 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace'


@dataclass(frozen=True)
class Colour:
    """One role in both themes, each as #rrggbb."""

    light: str
    dark: str


PAPER = Colour("#fbfaf7", "#16181d")
BLUE = Colour("#0068a3", "#56b4e9")

ROLES: dict[str, Colour] = {
    "paper": PAPER,
    "ink": Colour("#1d2126", "#e6e4de"),
    "muted": Colour("#5b6270", "#a6adba"),
    "rule": Colour("#dcd8ce", "#363a43"),
    "blue": BLUE,
    "orange": Colour("#b34700", "#f0924e"),
    "green": Colour("#00705a", "#3fc49a"),
    "violet": Colour("#6f4aa8", "#b79ae6"),
}

# What tells series apart: a role and a pattern of dashes. With more series than lines here, the patterns repeat.
SERIES: tuple[tuple[str, str], ...] = (
    ("blue", "none"),
    ("orange", "7 3"),
    ("green", "2 3"),
    ("violet", "9 3 2 3"),
    ("ink", "1 2"),
    ("muted", "12 4"),
)


def paint(role: str) -> dict[str, str]:
    """Attributes that fill an element with a role's colour."""
    return {"class": f"fill-{role}", "fill": ROLES[role].light}


def stroke(role: str) -> dict[str, str]:
    """Attributes that draw an element's outline in a role's colour."""
    return {"class": f"line-{role}", "stroke": ROLES[role].light, "fill": "none"}


def dark_style() -> str:
    """The style sheet of a figure: nothing but the dark theme's colours, for elements inside `.openwork-figure`."""
    rules = "".join(
        f".openwork-figure .fill-{role}{{fill:{colour.dark}}}.openwork-figure .line-{role}{{stroke:{colour.dark}}}"
        for role, colour in ROLES.items()
    )
    # Text on a cell of a heat map: black or white in each theme, whichever can be read.
    rules += ".openwork-figure .dark-black{fill:#000}.openwork-figure .dark-white{fill:#fff}"
    return f"@media (prefers-color-scheme:dark){{{rules}}}"


def mixed(colour: str, paper: str, share: float) -> tuple[float, float, float]:
    """What the eye sees where `colour` lies over `paper` with opacity `share`; red, green, blue in 0..1."""
    over, under = _channels(colour), _channels(paper)
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(over, under, strict=True))
    return red, green, blue


def readable_on(background: tuple[float, float, float]) -> str:
    """Black or white, whichever has the higher contrast (relative luminance as WCAG 2 defines it)."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in background]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # (L + 0.05) / 0.05 against 1.05 / (L + 0.05): equal at L + 0.05 = sqrt(0.05 * 1.05).
    return "black" if luminance + 0.05 > (0.05 * 1.05) ** 0.5 else "white"


def _channels(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))


# Characters that no XML document may contain, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# The direction of what stands between these two is that of its first letter (Unicode, annex 9).
_FIRST_STRONG, _POP = "\u2068", "\u2069"
_RIGHT_TO_LEFT = {"R", "AL", "AN"}  # classes of letters and digits
# Letters of the blocks that are written from right to left, and what stands between two of them but other letters.
_LETTERS = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
_RUN = re.compile(rf"({_LETTERS}+(?:[\W\d_]*{_LETTERS}+)*)")


def render(template: str, language: str = "en", **values: Any) -> str:
    """The page `template` with `values`; its words are in `language`, or in English if there is no catalogue for it."""
    found = _environment().get_template(template)
    return found.render(language=language, _=translator(language), **values) + "\n"


def translator(language: str) -> Callable[[str], str]:
    """Translates sentences into `language`; returns them as they are if there is no catalogue for it."""
    return catalogue(language if language in LANGUAGES else "en").translate


def legal(text: str) -> str:
    """Text that XML allows: forbidden characters become U+FFFD, and those that change the text's order are shown."""
    return escaped(_FORBIDDEN.sub("\ufffd", text))


def isolated(text: str) -> str:
    """Plain text, legal, with Unicode isolates around what is written from right to left: it takes its direction from
    its own first letter, and the text around it keeps its order. For pictures, titles and attributes.
    """
    if isinstance(text, Beside):
        return legal(text.between).join(map(isolated, text.parts))
    is_isolated = not _RIGHT_TO_LEFT.isdisjoint(map(unicodedata.bidirectional, text))
    return f"{_FIRST_STRONG}{legal(text)}{_POP}" if is_isolated else legal(text)


def bdi(text: str) -> Markup:
    """The same as elements of a page, which leave nothing in a text that a reader copies."""
    if isinstance(text, Beside):
        return escape(legal(text.between)).join(map(bdi, text.parts))
    return Markup("<bdi>{}</bdi>").format(legal(text))


def sentence(text: str) -> Markup:
    """A sentence of openwork's as elements of a page, where names from outside can stand in it."""
    return Markup("").join(
        bdi(part) if place % 2 else escape(legal(part)) for place, part in enumerate(_RUN.split(text))
    )


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("openwork", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: legal(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    colours = {
        theme: Markup(" ".join(f"--{role}: {getattr(colour, theme)};" for role, colour in ROLES.items()))
        for theme in ("light", "dark")
    }
    style = files("openwork").joinpath("templates/base.css").read_text(encoding="utf-8").strip()
    fonts = {"fonts": Markup(FONTS), "number_fonts": Markup(NUMBER_FONTS)}
    known: dict[str, Any] = {"version": __version__, "mark": Markup(PAGE_MARK), "colours": colours, **fonts}
    known["shared_style"] = Markup(style)
    environment.globals.update(known)
    filters: dict[str, Callable[[str], Markup]] = {
        "bdi": bdi,
        "sentence": sentence,
        "isolated": lambda text: escape(isolated(text)),
    }
    environment.filters.update(filters)
    return environment
