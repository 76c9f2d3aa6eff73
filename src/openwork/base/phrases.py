"""Texts that know how they come into another language: of several parts, in columns, or not at all.

They are what their English text is, so whoever only prints or compares them sees no difference.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

Translate = Callable[[str], str]


class Phrase(str, ABC):
    """A text that is not one sentence of the catalogue; its kinds say how it is translated."""

    @abstractmethod
    def translated(self, translate: Translate) -> str:
        """The text in the language of `translate`, which knows sentences."""


class AsIs(Phrase):
    """A text that is no message, such as a name or a sentence of the corpus: no word of it is translated."""

    def translated(self, translate: Translate) -> str:
        return str(self)


class Beside(AsIs):
    """Texts from outside with something between them, such as "source → output"; in a picture and on a page each of
    them is written in its own direction.
    """

    parts: tuple[str, ...]
    between: str

    def __new__(cls, *parts: str, between: str = " → ") -> "Beside":
        made = super().__new__(cls, between.join(parts))
        made.parts, made.between = parts, between
        return made

    def translated(self, translate: Translate) -> str:
        return self


class Joined(Phrase):
    """A line of several parts, each a sentence, a phrase, or what stands between them."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> "Joined":
        made = super().__new__(cls, "".join(parts))
        made.parts = parts
        return made

    def translated(self, translate: Translate) -> str:
        return "".join(map(translate, self.parts))


class Padded(Phrase):
    """A cell of a column: filled up with spaces to a width, in whatever language, behind it or before it."""

    text: str
    width: int
    right: bool

    def __new__(cls, text: str, width: int, *, right: bool = False) -> "Padded":
        made = super().__new__(cls, _fill(text, width, right))
        made.text, made.width, made.right = text, width, right
        return made

    def translated(self, translate: Translate) -> str:
        return _fill(translate(self.text), self.width, self.right)


def shown_width(text: str) -> int:
    """How many columns of a terminal the text takes: Chinese characters and their like take two, marks none."""
    from rich.cells import cell_len

    return cell_len(text)


def fitted(text: str, most: int) -> str:
    """At most so many columns, the last an ellipsis where some characters were cut."""
    if shown_width(text) <= most:
        return text
    while shown_width(text) > most - 1:
        text = text[:-1]
    return text + "…"


def _fill(text: str, width: int, right: bool) -> str:
    space = " " * (width - shown_width(text))
    return space + text if right else text + space
