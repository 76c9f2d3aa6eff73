"""What the coach checks: a run's own pairs, tokenizers and model, and a few sentences for it to overfit."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from openwork.base.errors import DataError
from openwork.bundles.bundle import Bundle, Golden
from openwork.checks.check import LargestDifference
from openwork.checks.context import MOST_GOLDEN, VerifyContext
from openwork.data.batching import assemble
from openwork.data.pairs import store_pairs
from openwork.data.records import Pair, are_texts, split_texts
from openwork.data.sources import PairSource
from openwork.data.store import TokenStore, write_store
from openwork.machine.device import choose_device
from openwork.runs.assembly import new_model
from openwork.runs.corpus import new_tokenizers, training_splits
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import settings_of_run
from openwork.text.pair import TokenizerPair
from openwork.training.batches.batch import TensorBatch, to_tensors
from openwork.training.loss import even_share
from openwork.training.optimisers import make_optimiser
from openwork.training.schedules import make_schedule
from openwork.training.step import Updater

MOST_PAIRS = 20_000  # from which the vocabulary is learnt; a training learns it from all
OVERFITTED, LONGEST_OVERFITTED = 8, 40  # pairs to overfit, and the pieces that a side of them may have
UPDATES, WARM_UP = 400, 20
SECONDS = 40.0  # that the learning may take
GOOD = 0.1  # nats a token above the floor: overfitted
RATE = 0.32  # over the width: 0.01 for 32, 0.0006 for the paper's 512


@dataclass(frozen=True)
class Observation(LargestDifference):
    """What was measured, and what should have been; both in words with their figures."""

    measured: str = ""
    expected: str = ""


def seen(held: bool, measured: str, expected: str) -> Observation:
    """A finding of something that holds or does not."""
    return Observation(0.0 if held else math.inf, 0.0, measured=measured, expected=expected)


@dataclass(frozen=True)
class Learning:
    """How one batch was learnt, in nats a token: `first` without smoothing before, `excess` over the `floor` after.

    `floor`: no model has a lower smoothed loss. It is the entropy of the smoothed targets, which give the right piece
    1 - s + s / V and each other one s / V (`loss.even_share`).
    """

    first: float
    excess: float
    floor: float
    updates: int
    seconds: float


def smoothing_floor(smoothing: float, form: str, vocabulary: int) -> float:
    """-sum q log q of the smoothed target distribution, in nats; 0 without smoothing."""
    share = even_share(smoothing, form, vocabulary)  # type: ignore[arg-type]
    right, other = 1 - share + share / vocabulary, share / vocabulary
    return -sum(count * q * float(np.log(q)) for count, q in ((1, right), (vocabulary - 1, other)) if q > 0)


@dataclass(frozen=True, kw_only=True)
class Trial(VerifyContext):
    """A model with fresh weights and without dropout, until `learning` is asked for: then it overfits one batch.

    `pairs` are those of `store`, in its order; `folder` is for what a check writes.
    """

    settings: RunSettings
    pairs: Sequence[Pair]
    store: TokenStore
    folder: Path

    @property
    def tokenizers(self) -> TokenizerPair:
        return self.bundle.tokenizers

    @cached_property
    def rows(self) -> list[int]:
        """Places of the pairs to overfit: short ones with different sources. `DataError` if there are not two."""
        longest, found, sources = self.within(LONGEST_OVERFITTED) - 1, [], set()
        for row in range(len(self.store)):
            source, target = (side.tolist() for side in self.store.pair(row))
            if source and target and max(len(source), len(target)) <= longest and tuple(source) not in sources:
                sources.add(tuple(source))
                found.append(row)
            if len(found) == OVERFITTED:
                return found
        if len(found) < 2:
            raise DataError(
                "there are not two pairs with different sources to overfit",
                why=f"a side may have {longest} pieces; the run has {len(self.store):,} pairs",
                hint="look at the data: openwork data stats",
                code="D110",
            )
        return found

    @cached_property
    def targets(self) -> list[list[int]]:
        """The ids of the targets to overfit."""
        return [self.store.pair(row)[1].tolist() for row in self.rows]

    def batch(self, store: TokenStore | None = None, rows: Sequence[int] | None = None) -> TensorBatch:
        """The pairs to overfit as a training has them; or those of another store."""
        places = np.array(self.rows if rows is None else rows)
        return to_tensors(assemble(store or self.store, places), self.device)

    def stored(self, pairs: Iterator[tuple[list[int], list[int]]], name: str) -> TokenStore:
        """A store of other ids."""
        size = max(self.tokenizers.sizes)
        return write_store(self.folder / name, pairs, vocabulary_size=size)

    @cached_property
    def learning(self) -> Learning:
        """Overfits the batch by the updates of a training; only schedule, rate and optimiser are set here."""
        chosen = {
            "schedule": "constant", "learning_rate": RATE / self.settings.model.width, "warmup": WARM_UP, "cooldown": 0,
            "steps": UPDATES, "optimiser": "adam", "weight_decay": 0.0, "r_drop": 0.0, "clip_norm": 1.0, "workers": 1,
        }  # fmt: skip
        training, batch = self.settings.training.model_copy(update=chosen), self.batch()
        optimiser, schedule = make_optimiser(self.model, training), make_schedule(training, self.settings.model.width)
        updater = Updater(self.model, optimiser, schedule, training, "float32")
        vocabulary = self.tokenizers.target.vocabulary_size
        floor = smoothing_floor(training.label_smoothing, training.smoothing_form, vocabulary)
        start = time.perf_counter()
        update = first = updater.update([batch], 1)
        while update.loss - floor >= GOOD / 4 and update.step < UPDATES and time.perf_counter() - start <= SECONDS:
            update = updater.update([batch], update.step + 1)
        self.model.eval()
        return Learning(first.likelihood, update.loss - floor, floor, update.step, time.perf_counter() - start)


@contextmanager
def trial_of(settings: RunSettings, report: Callable[[str], None]) -> Iterator[Trial]:
    """The run's own data and model, in a folder that is gone afterwards."""
    splits = training_splits(settings)
    few = PairSource(lambda: islice(splits.train.read(), MOST_PAIRS), splits.train.identity, splits.train.description)
    tokenizers = new_tokenizers(settings, few, report)
    pairs = list(few.read())
    if are_texts(pairs):  # the first part of each text becomes the source of its rest
        pairs = split_texts(pairs, MOST_PAIRS)
        few = replace(few, read=lambda: iter(pairs), identity=f"{few.identity} parted")
    # without dropout, which would keep the model from overfitting
    without = {name: 0.0 for name in type(settings.model).model_fields if name.endswith("dropout")}
    plain = settings.model_copy(update={"model": settings.model.model_copy(update=without)})
    golden = tuple(Golden(pair.source, pair.target, 0.0) for pair in pairs[:MOST_GOLDEN])  # any probability does
    with TemporaryDirectory(prefix="openwork-coach-") as scratch:
        store = store_pairs(Path(scratch) / "pairs", few, tokenizers)
        model = new_model(plain, tokenizers).to(choose_device()).eval()
        report(f"looking at {len(pairs):,} pairs: {few.description}")
        bundle = Bundle(settings_of_run(settings), tokenizers, model, golden)
        yield Trial(bundle, settings=settings, pairs=pairs, store=store, folder=Path(scratch))
