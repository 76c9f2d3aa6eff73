"""Why another toolkit's form is closed to a model."""

from typing import NamedTuple


class Closed(NamedTuple):
    """Why a form is closed to a model, and what to do instead."""

    why: str
    hint: str
