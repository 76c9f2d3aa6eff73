"""Searches for the best target. They know no model: only start, step and select."""

from typing import TYPE_CHECKING

from openwork.base.public import import_when_used

if TYPE_CHECKING:
    from openwork.decoding.beam import beam_search
    from openwork.decoding.greedy import greedy_search
    from openwork.decoding.hypothesis import Hypothesis
    from openwork.decoding.sampling import sample
    from openwork.decoding.search import decode
    from openwork.decoding.settings import DecodingSettings

__all__ = ["DecodingSettings", "Hypothesis", "beam_search", "decode", "greedy_search", "sample"]

__getattr__ = import_when_used(
    __name__,
    {
        "greedy_search": "greedy",
        "beam_search": "beam",
        "sample": "sampling",
        "decode": "search",
        "DecodingSettings": "settings",
        "Hypothesis": "hypothesis",
    },
)
