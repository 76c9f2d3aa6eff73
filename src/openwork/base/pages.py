"""HTML pages from templates (Jinja2): complete in themselves, every value escaped, in both themes, without scripts.

The templates are in openwork/templates; `page.html` is the base of all whole pages. Jinja2 is imported when the first
page is written. Pictures are not templates: `inspection.svg` draws them from numbers.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from openwork import __version__
from openwork.base.look import FONTS, NUMBER_FONTS, ROLES
from openwork.base.messages import LANGUAGES, catalogue
from openwork.base.outputs import PAGE_MARK
from openwork.base.printing import escaped

if TYPE_CHECKING:
    from jinja2 import Environment

# Characters that no XML document may contain, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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


def _legal_value(value: Any) -> Any:
    return legal(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("openwork", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_legal_value,
    )
    colours = {
        theme: Markup(" ".join(f"--{role}: {getattr(colour, theme)};" for role, colour in ROLES.items()))
        for theme in ("light", "dark")
    }
    fonts = {"fonts": Markup(FONTS), "number_fonts": Markup(NUMBER_FONTS)}
    environment.globals.update(version=__version__, mark=Markup(PAGE_MARK), colours=colours, **fonts)
    return environment
