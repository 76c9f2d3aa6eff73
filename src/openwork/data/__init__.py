"""Data: aligned sentences in, numbered batches out.

Readers give pairs of sentences, filters drop and count, the store keeps tokens on disk, batching plans epochs. Nothing
here imports torch."""

from typing import TYPE_CHECKING

from openwork.base.public import import_when_used

if TYPE_CHECKING:
    from openwork.data.batching import Batch, BatchPlan, BatchSettings, assemble
    from openwork.data.filters import FilterSettings
    from openwork.data.pairs import read_pairs
    from openwork.data.records import Pair
    from openwork.data.sources import PairSource
    from openwork.data.store import TokenStore, write_store

__all__ = [
    "Batch",
    "BatchPlan",
    "BatchSettings",
    "FilterSettings",
    "Pair",
    "PairSource",
    "TokenStore",
    "assemble",
    "read_pairs",
    "write_store",
]

__getattr__ = import_when_used(
    __name__,
    {
        "batching": "Batch BatchPlan BatchSettings assemble",
        "filters": "FilterSettings",
        "pairs": "read_pairs",
        "records": "Pair",
        "sources": "PairSource",
        "store": "TokenStore write_store",
    },
)
