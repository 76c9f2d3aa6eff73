"""Settings chosen from the size of the data by the table of sizes, each with its reason."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

from openwork.base.config import Layer, build_section
from openwork.base.messages import msg
from openwork.base.toml import ValueOrigin
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.pairs import training_pairs
from openwork.data.records import Pair
from openwork.data.settings import DataSettings
from openwork.data.sources import nothing_to_train_on
from openwork.machine.card import MOST_TRAINED, Card, card_here
from openwork.runs.file.inheritance import read_tuning
from openwork.runs.file.keys import section_of
from openwork.text.pair import train_pair
from openwork.text.pieces.alphabet import COMMON, room_for_alphabet
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import FIXED_NAMES


@dataclass(frozen=True)
class Size:
    """Up to how many pairs a row of the table holds, and what it sets."""

    pairs: float
    preset: str
    dropout: float
    vocabulary: int
    batch_tokens: int
    peak: float  # learning rate
    passes: int  # epochs over the corpus, at least

    def on(self, card: Card | None) -> "Size":
        """The row for a training on a GPU, which makes an update in a fraction of the time; None: on a processor."""
        if card is None:
            return self
        if self is SIZES[-1]:
            return replace(LARGEST_ON_CARD, batch_tokens=card.training_tokens)
        return replace(self, passes=CARD_PASSES * self.passes)


CHOSEN = ValueOrigin("chosen from the size of the data")

# Small corpora need small models with much dropout: on the 29,000 pairs of Multi30k narrow shapes beat the paper's base
# model (Wu et al. 2021). The vocabulary follows the corpus, so that each piece is seen often enough to be learnt.
SIZES = (
    Size(3_000, "nano", 0.3, 1_000, 1024, 2e-3, 100),
    Size(15_000, "tiny", 0.3, 2_000, 2048, 3e-3, 50),
    Size(50_000, "small", 0.3, 4_000, 2048, 2e-3, 24),
    Size(500_000, "small", 0.2, 8_000, 4096, 2e-3, 15),
    Size(float("inf"), "small", 0.1, 16_000, 4096, 1e-3, 6),
)
# The paper's base model, as in table 3. Its 100,000 updates were twenty passes over 4.5 million pairs.
LARGEST_ON_CARD = Size(float("inf"), "paper-base", 0.1, 32_000, MOST_TRAINED, 7e-4, 20)
CARD_PASSES = 2  # times the table's: with so much dropout quality still rises (docs/speed.md, "Time to quality")
FEWEST_STEPS, MOST_STEPS = 1_500, 100_000
VALIDATIONS = 15
MOST_GIVEN = 10**9  # more are refused when the settings are read
SHORT_WARMUP = 200  # updates, in a run that is long enough
TUNING_SHARE, FEWEST_TUNING_STEPS = 5, 300  # of the updates and of the peak rate of a training from nothing
BEAM, LENGTH_PENALTY = 5, 1.4  # the best on Multi30k's val; the paper's 4 and 0.6 are the defaults of a run file
PLACEHOLDER_SHARE = 0.1  # of the pairs, which get one put in
PLACEHOLDERS = 10  # of a sentence; what has none of its own is spelt out
SMALLEST_WITH_PLACEHOLDERS = 1_000  # pieces
LARGEST_VOCABULARY = 4  # times the table's, for scripts of many characters
SAMPLE = 20_000  # pairs of which a vocabulary is learnt on trial: seconds
MOST_CHARACTERS = 4_000_000  # of the sample
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class CorpusSize:
    """The size of a corpus. `used`: how often each side has each character; `sample`: pairs drawn by chance.

    `trained`: the share of the pairs that is trained on; the others are held out.
    """

    pairs: int
    used: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    sample: tuple[Pair, ...] = ()
    trained: float = 1.0


def measure(pairs: Iterable[Pair]) -> CorpusSize:
    """Counts a corpus in one reading."""
    generator = Random(0)
    used = Counter[str](), Counter[str]()
    sample: list[Pair] = []
    count = 0
    for count, pair in enumerate(pairs, start=1):
        for counts, text in zip(used, pair, strict=True):
            counts.update(text)
        if count <= SAMPLE:
            sample.append(pair)
        elif (place := generator.randrange(count)) < SAMPLE:
            sample[place] = pair
    characters = sum(len(text) for pair in sample for text in pair)
    return CorpusSize(count, used, tuple(sample[:: max(1, -(-characters // MOST_CHARACTERS))]))


def updates_a_pass(corpus: CorpusSize, text: TextSettings, batches: BatchSettings) -> float:
    """How many batches the whole corpus makes with a vocabulary as the settings want it; at least a part of one.

    The vocabulary is learnt from the sample, and the sample is divided into batches as the training does it.
    """
    if not corpus.sample:
        return 1.0
    sides = [pair.source for pair in corpus.sample], [pair.target for pair in corpus.sample]
    tokenizers = train_pair(*sides, text)
    encoded = tokenizers.source.encode_batch(sides[0]), tokenizers.target.encode_batch(sides[1])
    source, target = (np.array([len(row) for row in rows], np.int64) for rows in encoded)
    plan = BatchPlan(source, target, batches, seed=0)
    return len(plan.epoch(0)) * corpus.pairs * corpus.trained / len(corpus.sample)


def chosen_lengths(steps: int) -> dict[str, int]:
    """The lengths that follow from the number of updates of a training from nothing."""
    return {
        "warmup": max(1, steps // 10, min(SHORT_WARMUP, steps // 5)),
        "cooldown": steps // 4,
        "validate_every": max(min(100, max(1, steps // 3)), steps // VALIDATIONS // 50 * 50),
    }


def tuning_lengths(steps: int) -> dict[str, int]:
    """The same for a training that starts from a bundle."""
    return {
        "warmup": max(1, steps // 20, min(10, steps // 5)),
        "validate_every": max(min(50, max(1, steps // 3)), steps // 10),
    }


def choose(
    corpus: CorpusSize,
    text: Mapping[str, Any] = _NOTHING,
    origins: Mapping[str, ValueOrigin] = _NOTHING,
    wanted: int | None = None,
    card: Card | None = None,
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Sections of a run file, and the reasons in words.

    `text`: the given keys of the section [text], and `origins` their places. `wanted`: the updates that the user wants.
    `card`: the GPU that it is for; None: a processor.
    """
    size = _size_of(corpus, card)
    chosen, reason = _choose_text(corpus, size, text)
    settings = build_section(TextSettings, "text", {**chosen, **text}, origins)
    a_pass = updates_a_pass(corpus, settings, BatchSettings(tokens=size.batch_tokens))
    steps = wanted or round(min(MOST_STEPS, max(FEWEST_STEPS, size.passes * a_pass)) / 100) * 100
    lengths = chosen_lengths(steps)
    sections: dict[str, dict[str, Any]] = {
        "text": chosen,
        "batches": {"tokens": size.batch_tokens},
        "model": {"preset": size.preset, "dropout": size.dropout},
        "training": {"schedule": "inverse-square-root", "learning_rate": size.peak, "steps": steps, **lengths},
        "decoding": {"beam": BEAM, "length_penalty": LENGTH_PENALTY},
    }
    on_card = [msg(f"sizes and length are for the GPU {card.name}; for a processor they are smaller")] if card else []
    reasons = [
        *on_card,
        f"{corpus.pairs:,} pairs: preset {size.preset} with dropout {size.dropout} (the fewer pairs, the smaller)",
        reason,
        f"length: {steps:,} updates of up to {size.batch_tokens:,} tokens, about {steps / a_pass:.0f} "
        f"passes over the corpus; a look at held-out pairs every {lengths['validate_every']} updates",
        "all of it can be changed in a run file or with --set; the whole is saved as run.toml",
    ]
    return sections, reasons


def choose_for_tuning(
    corpus: CorpusSize,
    text: Mapping[str, Any] = _NOTHING,
    origins: Mapping[str, ValueOrigin] = _NOTHING,
    wanted: int | None = None,
    card: Card | None = None,
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The same for a training that starts from a bundle: shorter, and at lower rates that fall to zero."""
    sections, reasons = choose(corpus, text, origins, card=card)
    steps = wanted or max(FEWEST_TUNING_STEPS, sections["training"]["steps"] // TUNING_SHARE)
    rates = {"schedule": "linear", "learning_rate": _size_of(corpus, card).peak / TUNING_SHARE}
    return {"batches": sections["batches"], "training": {**rates, "steps": steps, **tuning_lengths(steps)}}, [
        f"{corpus.pairs:,} pairs: {steps:,} updates, at a fifth of the rate of a training from nothing",
        "sizes, vocabulary and search are the bundle's",
        reasons[-1],
    ]


def _size_of(corpus: CorpusSize, card: Card | None) -> Size:
    return next(size for size in SIZES if corpus.pairs <= size.pairs).on(card)


def _choose_text(corpus: CorpusSize, size: Size, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The keys of the section [text], and why: pieces for the characters of both sides, and placeholders."""
    vocabulary, frequency = room_for_alphabet(
        corpus.used, size.vocabulary, len(FIXED_NAMES) + PLACEHOLDERS, LARGEST_VOCABULARY * size.vocabulary
    )
    chosen: dict[str, Any] = {"vocabulary_size": vocabulary}
    if frequency != COMMON:
        chosen["character_frequency"] = frequency
    pieces = given.get("vocabulary_size", vocabulary)
    if not (
        given.get("source_file")
        or given.get("target_file")
        or (isinstance(pieces, int) and pieces < SMALLEST_WITH_PLACEHOLDERS)
        or given.get("target_kind") in ("labels", "positions")
        or (corpus.sample and not any(pair.source for pair in corpus.sample))  # no source to copy from
    ):
        chosen |= {"placeholders": PLACEHOLDERS, "placeholder_share": PLACEHOLDER_SHARE}
    reason = f"vocabulary: at most {vocabulary:,} pieces, shared by both sides"
    if vocabulary != size.vocabulary:
        different = len(corpus.used[0].keys() | corpus.used[1].keys())
        reason += f", for there are {different:,} different characters"
    return chosen, reason


def overlay(chosen: Mapping[str, Mapping[str, Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen sections, overridden by the given keys."""
    merged: dict[str, Any] = {section: dict(values) for section, values in chosen.items()}
    model = given.get("model", {})
    if isinstance(model, Mapping) and "kind" in model and "preset" not in model:
        merged.pop("model", None)  # another family: the sizes of the preset are not its own
    for section, values in given.items():
        merged[section] = {**merged.get(section, {}), **values} if isinstance(values, Mapping) else values
    return merged


def choose_layer(layer: Layer, report: Callable[[str], None]) -> Layer:
    """The layer with the chosen settings beneath it; their origin says that they were chosen."""
    data = build_section(DataSettings, "data", layer.mapping["data"], layer.origins)
    pairs = training_pairs(data)
    corpus = measure(pairs.read())
    if corpus.pairs == 0:
        raise nothing_to_train_on(pairs, "the corpus is empty")
    if data.validation is None:
        corpus = replace(corpus, trained=1 - min(data.held_out / corpus.pairs, 0.1))
    steps = section_of(layer, "training").get("steps")
    wanted = steps if isinstance(steps, int) and 0 < steps <= MOST_GIVEN else None
    way = choose if read_tuning(layer).from_bundle is None else choose_for_tuning
    chosen, reasons = way(corpus, section_of(layer, "text"), layer.origins, wanted, card_here())
    report("no run file, so these settings were chosen:")
    for reason in reasons:
        report(f"  {reason}")
    merged = overlay(chosen, layer.mapping)
    taken = [f"{section}.{key}" for section, keys in chosen.items() for key in keys if key in merged.get(section, ())]
    return Layer(merged, {**dict.fromkeys(taken, CHOSEN), **layer.origins})
