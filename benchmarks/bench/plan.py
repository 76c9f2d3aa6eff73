"""All that is measured, in one list; and the work that it needs, made when it is first asked for."""

import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from bench import ceilings, micro, training, translating
from bench.measurement import Measurement
from bench.model import find_bundle
from bench.options import Options
from bench.texts import TranslatingWork, prepare_texts
from bench.workload import TrainingWork, prepare_training


class Work:
    """What the peers work on. Preparing it takes seconds to minutes, so it waits until something needs it."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.options = options
        self.say = say

    @cached_property
    def training(self) -> TrainingWork:
        """Pairs, pieces and batches."""
        folder = self.options.folder / "data" / f"training-{self.options.corpus}"
        return prepare_training(folder, training.assignments(self.options), self.say)

    @cached_property
    def translating(self) -> TranslatingWork:
        """A trained bundle in all forms, and sentences."""
        bundle = find_bundle(self.options, self.say)
        folder = self.options.folder / "data" / f"texts-{self.options.corpus}"
        return prepare_texts(folder, bundle, self.options.corpus, self.options.sentences)


def plan(options: Options, work: Work) -> list[Measurement]:
    """What is wanted, in the order of one round."""
    everything = [
        *ceilings.measurements(options),
        *training.measurements(options, lambda: work.training),
        *translating.measurements(options, lambda: work.translating),
        *micro.measurements(options),
    ]
    return [measurement for measurement in everything if options.chooses(measurement.key)]


OUR_PYTHON = Path(sys.executable)
