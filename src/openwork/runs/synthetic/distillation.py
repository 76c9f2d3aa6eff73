"""Sequence-level distillation: a student learns what its teacher writes (Kim and Rush 2016, section 3.2).

The teacher's best translation replaces the target. Of several, that nearest to the target that the corpus has may be
taken instead (section 3.3): it is as easy to learn and closer to the data.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from openwork.inference.settings import TranslationPrecision
from openwork.metrics.translation import chrf_metric
from openwork.runs.synthetic.pairs import UNUSABLE, ModelOutput, NewPair
from openwork.runs.synthetic.translated import SyntheticPlan


def distillation_plan(bundles: Sequence[Path], nearest: int, precision: TranslationPrecision) -> SyntheticPlan:
    """The teacher's best translation, or of the `nearest` best the one that is nearest to the corpus's own."""
    options = {"best": nearest, "samples": 0} if nearest > 1 else {"best": 1}
    choose = partial(nearest_target, similarity=chrf_metric()) if nearest > 1 else first_target
    return SyntheticPlan(tuple(bundles), options, precision, choose, {"nearest": nearest})


def first_target(found: ModelOutput) -> NewPair:
    """The teacher's best translation."""
    return NewPair(found.sentence, found.usable[0]) if found.usable else NewPair(problem=UNUSABLE)


def nearest_target(found: ModelOutput, similarity: Any) -> NewPair:
    """Of the teacher's translations the one with the highest chrF2 of the sentence; of equals the more probable."""
    if not found.usable:
        return NewPair(problem=UNUSABLE)
    nearest = max(found.usable, key=lambda text: similarity.sentence_score(text, [found.reference]).score)
    return NewPair(found.sentence, nearest)
