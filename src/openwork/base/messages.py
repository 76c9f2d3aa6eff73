"""Messages in the reader's language: gettext catalogues, one for each language but English.

The code speaks English. A catalogue's key is the sentence as it stands there, with a name for each part that varies:
"{path}: empty file". A wheel holds the compiled catalogues alone; in a checkout one is compiled again after its text
has changed. Only what a person reads passes through here: what is written for programs (JSON, `key=value` lines,
translations) never does.
"""

import contextlib
import difflib
import gettext
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from openwork.base.errors import OpenworkError
from openwork.base.files import atomic_write_bytes
from openwork.base.phrases import Phrase

LANGUAGES = ("en", "zh")
LANGUAGE_VARIABLE = "OPENWORK_LANG"
GAP = "{}"
SEPARATOR = "; "  # joins several causes in one line
FOLDER = Path(__file__).parent.parent / "locale"
DOMAIN = "openwork"
PLACEHOLDER = re.compile(r"\{(\w*)\}")


def find_language(environment: Mapping[str, str]) -> str:
    """One of `LANGUAGES`: our own variable decides, then the locale as POSIX orders its variables, then English."""
    for name in (LANGUAGE_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(name, ""):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def msg(text: str) -> str:
    """Marks a sentence for the catalogues (as `N_` does in C); it is translated when it is shown."""
    return text


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """A hint at the known name that is most like this one; empty where none is."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return msg(f"did you mean {near[0]}?") if near else ""


@dataclass(frozen=True)
class Template:
    """A sentence with gaps, or without: the fixed parts around them, one more than there are gaps."""

    parts: tuple[str, ...]
    translation: str

    @property
    def fixed(self) -> int:
        """How many characters are fixed: the more, the surer a match."""
        return sum(len(part) for part in self.parts)

    def match(self, text: str) -> list[str] | None:
        """What fills the gaps, each as short as can be; None if this is another sentence. Linear in the text."""
        if len(self.parts) == 1:
            return [] if self.parts == (text,) else None
        first, *middle, last = self.parts
        if not (text.startswith(first) and text.endswith(last) and len(text) >= len(first) + len(last)):
            return None
        fillings, position = [], len(first)
        for part in middle:
            found = text.find(part, position, len(text) - len(last))
            if found < 0:
                return None
            fillings.append(text[position:found])
            position = found + len(part)
        fillings.append(text[position : len(text) - len(last)])
        return fillings


class Catalogue:
    """Translates whole sentences; what it does not know stays as it is."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self.sentences = {key: value for key, value in entries.items() if GAP not in key}
        templates = [Template(tuple(key.split(GAP)), value) for key, value in entries.items() if GAP in key]
        # A template without fixed text would match everything, itself included.
        self.templates = sorted((t for t in templates if t.fixed), key=lambda template: -template.fixed)

    def translate(self, text: str) -> str:
        """The sentence in the catalogue's language; the parts that fill its gaps are looked up in the same way."""
        if isinstance(text, Phrase):
            return text.translated(self.translate)
        if text in self.sentences:
            return self.sentences[text]
        if indented := len(text) - len(text.lstrip(" ")):
            return text[:indented] + self.translate(text[indented:])
        parts = [self._fill(part) for part in text.split(SEPARATOR)]
        if all(part is not None for part in parts):
            return "；".join(part for part in parts if part is not None)
        whole = self._fill(text)
        if whole is not None or not any(part is not None for part in parts):
            return whole or text
        return "；".join(known or part for known, part in zip(parts, text.split(SEPARATOR), strict=True))

    def _fill(self, text: str) -> str | None:
        """The translation of the surest template that matches."""
        if text in self.sentences:
            return self.sentences[text]
        for template in self.templates:
            fillings = template.match(text)
            if fillings is not None:
                return template.translation.format(*map(self._filling, fillings))
        return None

    def _filling(self, text: str) -> str:
        """What fills a gap: a sentence or some words are looked up; a single word is a name, even if we know it."""
        return self.translate(text) if " " in text.strip() else text


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of a language; that of English is empty."""
    if language == "en":
        return Catalogue({})
    return Catalogue(dict(with_numbers(*entry) for entry in read_catalogue(language).items()))


def read_catalogue(language: str, folder: Path = FOLDER) -> dict[str, str]:
    """English sentence -> translation; both name what varies: "{path}: empty file"."""
    source = folder / language / "LC_MESSAGES" / f"{DOMAIN}.po"
    compiled = source.with_suffix(".mo")
    if source.exists() and not (compiled.exists() and compiled.stat().st_mtime_ns >= source.stat().st_mtime_ns):
        data = compile_catalogue(source)
        with contextlib.suppress(OpenworkError):  # not our folder: it is compiled again the next time
            atomic_write_bytes(compiled, data)
    else:
        data = compiled.read_bytes()
    # gettext's table has no public name, and sentences that are patterns need the whole of it
    entries = vars(gettext.GNUTranslations(io.BytesIO(data)))["_catalog"]
    return {key: text for key, text in entries.items() if key}


def compile_catalogue(source: Path) -> bytes:
    """A PO file in the form that gettext reads."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with source.open("rb") as file:
        write_mo(compiled, read_po(file))
    return compiled.getvalue()


def with_numbers(key: str, translation: str) -> tuple[str, str]:
    """The sentence with `{}` for what varies, and its translation with `{0}`, `{1}`, ... for the same."""
    names = PLACEHOLDER.findall(key)
    return PLACEHOLDER.sub("{}", key), PLACEHOLDER.sub(lambda found: f"{{{names.index(found[1])}}}", translation)
