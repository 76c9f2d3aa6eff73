"""Searches for the best target. They know no model: only start, step and select."""

from typing import TYPE_CHECKING

from openwork.base.public import import_when_used

if TYPE_CHECKING:
    from openwork.decoding.beam import beam_search
    from openwork.decoding.left_to_right import greedy_search, sample
    from openwork.decoding.scoring import Hypothesis
    from openwork.decoding.search import decode
    from openwork.decoding.settings import DecodingSettings

__all__ = ["DecodingSettings", "Hypothesis", "beam_search", "decode", "greedy_search", "sample"]

__getattr__ = import_when_used(
    __name__,
    {
        "beam": "beam_search",
        "left_to_right": "greedy_search sample",
        "scoring": "Hypothesis",
        "search": "decode",
        "settings": "DecodingSettings",
    },
)
