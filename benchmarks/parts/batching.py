"""Planning an epoch and assembling a batch with whole arrays, beside doing it sentence by sentence."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from openwork.data.batching import BatchPlan, BatchSettings, assemble
from openwork.data.store import TokenStore, write_store
from openwork.text.tokenizer import Tokenizer
from parts.comparison import Comparison

VOCABULARY = 8000
SETTINGS = BatchSettings(tokens=4096)


def comparisons(scale: int = 16) -> list[Comparison]:
    """A store of random sentences, whose files are mapped already."""
    generator = np.random.default_rng(1)
    lengths = generator.poisson(13, (2, 2000 * scale)) + 1
    folder = tempfile.TemporaryDirectory(prefix="openwork-")
    pairs = (tuple(generator.integers(4, VOCABULARY, size).tolist() for size in pair) for pair in lengths.T)
    store = write_store(Path(folder.name) / "store", pairs, vocabulary_size=VOCABULARY)  # type: ignore[arg-type]
    plan = BatchPlan.of(store, SETTINGS, 1)
    rows = plan.epoch(0)[0]

    def with_arrays() -> list[Any]:
        batch = assemble(store, rows)
        return [batch.source, batch.target_input, batch.target_output, batch.source_lengths]

    def whole_epoch() -> float:
        return float(sum(len(batch) for batch in plan.epoch(0)))

    def cut_by_sentence() -> float:
        return float(sum(len(batch) for batch in _cut(plan.epoch(0).rows, store)))

    made = Comparison(
        "assembling",
        f"a batch of {len(rows):,} pairs",
        {"by sentence": lambda: _assembled(store, rows), "ours": with_arrays},
    )
    planned = Comparison(
        "planning", f"an epoch of {len(store):,} pairs", {"cut by sentence": cut_by_sentence, "ours": whole_epoch}
    )
    store.keeping = folder  # type: ignore[attr-defined]  # the files stay as long as the store
    return [made, planned]


def _assembled(store: TokenStore, rows: np.ndarray) -> list[Any]:
    """Lists, padded one after the other."""
    pairs = [tuple(side.tolist() for side in store.pair(int(row))) for row in rows]
    longest = [max(len(pair[side]) for pair in pairs) + 1 for side in (0, 1)]

    def padded(ids: list[int], size: int) -> list[int]:
        return ids + [Tokenizer.pad_id] * (size - len(ids))

    start, end = [Tokenizer.start_id], [Tokenizer.end_id]
    return [
        np.array([padded(source + end, longest[0]) for source, _ in pairs]),
        np.array([padded(start + target, longest[1]) for _, target in pairs]),
        np.array([padded(target + end, longest[1]) for _, target in pairs]),
        np.array([len(source) + 1 for source, _ in pairs]),
    ]


def _cut(rows: np.ndarray, store: TokenStore) -> list[list[int]]:
    """Rows in the order of the plan, filled into batches one after the other."""
    longer = np.maximum(store.source.lengths, store.target.lengths) + 1
    batches: list[list[int]] = [[]]
    longest = 0
    for row in rows.tolist():
        longest = max(longest, int(longer[row]))
        if batches[-1] and longest * (len(batches[-1]) + 1) > SETTINGS.tokens:
            batches.append([])
            longest = int(longer[row])
        batches[-1].append(row)
    return batches
