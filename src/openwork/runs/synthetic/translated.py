"""Pairs for training from a model's translations of a corpus: the plan, its cost, and the writing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from openwork.base.files import sha256_values
from openwork.base.lines import Report
from openwork.base.messages import msg
from openwork.data.sources import count_and_digest
from openwork.inference.bulk.plan import TranslationPlan
from openwork.inference.loading import load_bundles
from openwork.inference.settings import LineSettings, TranslationPrecision, settings_over
from openwork.runs.synthetic.corpus import Corpus
from openwork.runs.synthetic.pairs import ModelOutput, NewPair, PairsFolder, PairsReport

SAMPLE = 200  # sentences that are translated first, to tell how long all will take
Bar = Callable[[int, str], Any]
"""A context that shows the progress of so many things; it yields an `OnProgress`."""


@dataclass(frozen=True)
class SyntheticPlan:
    """What makes the pairs: models, how they search, and how a translation becomes a pair.

    `options`: of the search, over the bundle's. `choosing`: all that `choose` depends on, as plain values.
    """

    bundles: tuple[Path, ...]
    options: dict[str, Any]
    precision: TranslationPrecision
    choose: Callable[[ModelOutput], NewPair]
    choosing: dict[str, Any]


def write_pairs(plan: SyntheticPlan, corpus: Corpus, out: Path, report: Report, bar: Bar) -> PairsReport:
    """Writes the pairs into the folder `out`, or as many as an earlier call has not finished."""
    bundles = load_bundles(plan.bundles)
    decoding = settings_over(bundles[0].settings.decoding, plan.options)
    lines = LineSettings(as_json=True, precision=plan.precision)
    translation, translator = TranslationPlan.of(plan.bundles, lines, decoding, 1).loaded(bundles)
    count, digest = count_and_digest(corpus.pairs())
    folder = PairsFolder(out)
    identity = {"sentences": digest, "translation": sha256_values(translation.identity(None)), **plan.choosing}
    if folder.prepare(identity, [*plan.bundles, *corpus.reads]):
        report(msg(f"{out}: the pairs are there already"))
        return folder.report()
    sample = [pair.source for pair in islice(corpus.pairs(), SAMPLE)]
    began = time.monotonic()
    translator.texts(sample)
    minutes = (time.monotonic() - began) / max(len(sample), 1) * count / 60
    report(msg(f"{count:,} sentences to translate: about {minutes:,.1f} minutes, by the first {len(sample):,} of them"))
    folder.put_sentences(pair.source for pair in corpus.pairs())
    with bar(folder.shards(), msg("thousands of sentences translated")) as advanced:
        folder.translate(translation, translator, report, advanced)
    return folder.finish((pair.target for pair in corpus.pairs()), plan.choose)
