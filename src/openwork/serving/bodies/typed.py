"""The types of fields that bodies share."""

from typing import Annotated

from pydantic import AfterValidator


def _checked(text: str) -> str:
    text.encode()  # ValueError for half a character (a lone surrogate), which JSON can spell
    return text


Text = Annotated[str, AfterValidator(_checked)]
