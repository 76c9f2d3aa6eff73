"""The result of a study: figures, the claims that they are held to, tables and charts.

Figures are plain values in a dataclass of the study's own; charts, tables and claims are made from them alone.
"""

from typing import Any, NamedTuple

from openwork.inspection.plots import Chart, Figures


class Variant(NamedTuple):
    """One of the things that a study compares: its key in the figures, and its name in words."""

    key: str
    words: str


class Claim(NamedTuple):
    """A sentence about the figures, and whether they bear it out."""

    sentence: str
    holds: bool


class Result(NamedTuple):
    """What came out of one run of a study."""

    data: Any  # the study's own dataclass
    claims: tuple[Claim, ...]
    tables: tuple[Figures, ...]
    charts: tuple[Chart, ...]
