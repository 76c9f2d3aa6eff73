"""What is shown of one object of the paper: what is written here once, and what is calculated when it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openwork.inspection.trace import Trace
from openwork.study.studies.study import Figures


@dataclass(frozen=True)
class Computed:
    """The numbers of an object, made by the production code: steps of a calculation, tables, plain values.

    `drawing`: the lines of a figure.
    """

    trace: Trace | None = None
    tables: tuple[Figures, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    drawing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exhibit:
    """One object.

    Args:
        name: as in the list of contents.
        formula: as text; empty where the object is none.
        text: what it says and where ours departs from it, in our own words, a paragraph each.
        code: the functions and classes that are this object here; their lines are read when they are shown.
        tests: what holds the code to it, as FILE::FUNCTION from the root of the repository.
        compute: makes the numbers.
    """

    name: str
    formula: str
    text: tuple[str, ...]
    code: tuple[Callable[..., Any], ...]
    tests: tuple[str, ...]
    compute: Callable[[], Computed] = Computed
