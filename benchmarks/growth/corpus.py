"""Time and memory of training against the size of the corpus, which is one small corpus again and again.

    PYTHONPATH=benchmarks python -m growth.corpus PAIRS [--text] [--corpus multi30k-en-de]

Measures in this order: making a token store of so many pairs (from text with --text, else of ids that are known, as
tokenising is by far the longest part); opening it and planning an epoch; the first update; and updates after it. One
JSON object is printed. Everything is made in a temporary folder, and removed.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch

from growth.resident import anonymous_bytes, begin_peak, peak_bytes
from growth.shapes import BASE
from growth.training_step import make_batch, make_updater
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.corpora import catalogue as corpora
from openwork.data.pairs import store_pairs
from openwork.data.records import Pair
from openwork.data.sources import PairSource
from openwork.data.store import TokenStore, write_store
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings
from openwork.training.batches.batch import BatchStream
from openwork.training.progress import Progress

UPDATES = 20


def index_text(folder: Path, pairs: list[Pair], tokenizers: TokenizerPair, count: int) -> TokenStore:
    """As a training does it: read, tokenised some thousand at a time, written."""

    def read() -> Iterator[Pair]:
        return islice(cycle(pairs), count)

    return store_pairs(folder, PairSource(read, f"{count}", "the repeated corpus"), tokenizers)


def index_ids(folder: Path, pairs: list[Pair], tokenizers: TokenizerPair, count: int) -> TokenStore:
    """The same, but the ids of the pairs are known."""
    known = list(tokenizers.encode_pairs([pair.source for pair in pairs], [pair.target for pair in pairs]))
    size = tokenizers.source.vocabulary_size
    return write_store(folder, islice(cycle(known), count), vocabulary_size=size)


def measure(pairs: list[Pair], count: int, *, from_text: bool) -> dict[str, Any]:
    """Seconds and bytes of each part."""
    texts = [pair.source for pair in pairs], [pair.target for pair in pairs]
    tokenizers = train_pair(*texts, TextSettings(vocabulary_size=BASE.vocabulary))
    updater = make_updater(BASE, "bfloat16")
    updater.update([make_batch(BASE)], 1)  # what the model and the libraries take is not the corpus's
    found: dict[str, Any] = {"pairs": count, "from_text": from_text}
    with tempfile.TemporaryDirectory(prefix="openwork-") as folder:
        before, start = begin_peak(), time.perf_counter()
        index = index_text if from_text else index_ids
        store = index(Path(folder) / "store", pairs, tokenizers, count)
        found |= {"indexing_seconds": time.perf_counter() - start, "indexing_peak_bytes": peak_bytes() - before}
        found["store_bytes"] = sum(path.stat().st_size for path in store.folder.iterdir())
        del store
        own, before, start = anonymous_bytes(), begin_peak(), time.perf_counter()
        store = TokenStore.open(Path(folder) / "store")
        stream = BatchStream(store, BatchPlan.of(store, BatchSettings(), 1), torch.device("cpu"))
        place = Progress()
        batch = stream.next(place)
        found |= {"planning_seconds": time.perf_counter() - start, "planning_peak_bytes": peak_bytes() - before}
        found["plan_bytes"] = anonymous_bytes() - own
        updater.update([batch], 2)
        found |= {"first_update_seconds": time.perf_counter() - start, "own_bytes": anonymous_bytes() - own}
        waited, start = 0.0, time.perf_counter()
        for step in range(3, 3 + UPDATES):
            asked = time.perf_counter()
            batch = stream.next(place)
            waited += time.perf_counter() - asked
            updater.update([batch], step)
        found["seconds_an_update"] = (time.perf_counter() - start) / UPDATES
        found["seconds_waiting_an_update"] = waited / UPDATES
        found["own_bytes_later"] = anonymous_bytes() - own
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=int)
    parser.add_argument("--text", action="store_true", help="make the store from text")
    parser.add_argument("--corpus", default="multi30k-en-de", help="the corpus that is repeated")
    asked = parser.parse_args()
    print(json.dumps(measure(list(corpora.load(asked.corpus, "train")), asked.pairs, from_text=asked.text)))


if __name__ == "__main__":
    main()
