"""Checks of the bundle's files: written and read again, golden examples, exported to other toolkits' formats."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from openwork.base.errors import OpenworkError
from openwork.base.phrases import AsIs, Joined
from openwork.base.tasks import task_of
from openwork.bundles.bundle import Bundle, Golden, load_bundle, write_bundle
from openwork.bundles.quantised import StoredType, restored, stored
from openwork.checks.check import Check, LargestDifference, NotApplicable, error_reason
from openwork.checks.context import Spot, VerifyContext
from openwork.inference.golden import GOLDEN_TOLERANCE, make_golden
from openwork.inference.labeller import Choice, Labeller
from openwork.inspection.parting import TARGET, difference
from openwork.interop.forms import FORMS, ModelFormat
from openwork.models.weights import model_weights


def written_again(context: VerifyContext) -> LargestDifference:
    """A bundle written and read again is the same to the last bit: weights, settings, vocabularies, examples, card."""
    with TemporaryDirectory(prefix="openwork-") as folder:
        write_bundle(Path(folder) / "again", context.bundle)
        again = load_bundle(Path(folder) / "again")
    bundle, weights = context.bundle, model_weights(again.model)
    apart = {
        name: float(difference(weight, weights[name]).max()) for name, weight in model_weights(bundle.model).items()
    }
    worst = max(apart, key=lambda name: apart[name])
    parts = {
        "settings": bundle.settings != again.settings,
        "tokenizer": bundle.tokenizers.fingerprint != again.tokenizers.fingerprint,
        "golden examples": bundle.golden != again.golden,
        "card": bundle.card != again.card,
    }
    changed = ", ".join(name for name, is_changed in parts.items() if is_changed)
    wrong = Joined("these differ after reading again: ", AsIs(changed)) if changed else ""
    return LargestDifference(apart[worst], 0.0, Spot(worst) if apart[worst] else None, wrong)


def in_fewer_bits(context: VerifyContext) -> LargestDifference:
    """What is read from files in bfloat16, int8 and int4 are the rounded weights, to the last bit."""
    before = model_weights(context.model)
    apart: dict[str, float] = {}
    for kind in get_args(StoredType):
        with TemporaryDirectory(prefix="openwork-") as folder:
            write_bundle(Path(folder) / kind, context.bundle, kind)
            after = model_weights(load_bundle(Path(folder) / kind).model)
        for name, weight in restored(stored(before, kind), kind).items():
            apart[f"{name} ({kind})"] = float(difference(weight.to(after[name].dtype), after[name]).max())
    worst = max(apart, key=lambda name: apart[name])
    return LargestDifference(apart[worst], 0.0, Spot(worst) if apart[worst] else None)


def golden(context: VerifyContext) -> LargestDifference:
    """The golden examples give the same translations and log-probabilities as when the bundle was written."""
    bundle = context.bundle
    if not bundle.golden:
        raise NotApplicable("the bundle has no golden examples")
    now = make_golden(bundle, [example.source for example in bundle.golden]).golden
    pairs = list(zip(bundle.golden, now, strict=True))
    apart = [abs(then.log_probability - here.log_probability) for then, here in pairs]
    for number, (then, here) in enumerate(pairs):
        if then.translation != here.translation:
            spot = _first_other_piece(context, number, then, here)
            texts = [AsIs(repr(text)) for text in (then.source, then.translation, here.translation)]
            wrong = Joined(texts[0], " gave ", texts[1], ", now ", texts[2])
            return LargestDifference(max(apart), GOLDEN_TOLERANCE, spot, wrong)
    return _worst_sentence(apart, GOLDEN_TOLERANCE)


def _worst_sentence(apart: list[float], tolerance: float) -> LargestDifference:
    worst = apart.index(max(apart))
    spot = Spot(sentence=worst + 1, side=TARGET) if apart[worst] > tolerance else None
    return LargestDifference(apart[worst], tolerance, spot)


def _first_other_piece(context: VerifyContext, number: int, then: Golden, here: Golden) -> Spot:
    target = context.bundle.tokenizers.target
    before, after = (target.encode_pieces(one.translation).pieces for one in (then, here))
    same = [one == other for one, other in zip(before, after, strict=False)]
    position = same.index(False) if False in same else len(same)
    piece = after[position] if position < len(after) else ""
    return Spot(side=TARGET, sentence=number + 1, position=position, piece=piece)


LABEL_TOLERANCE = 1e-4  # of a probability
PICTURES, SEED = 5, 2021


def exported(form: ModelFormat) -> Callable[[VerifyContext], LargestDifference]:
    """A check of one format: translations and log-probabilities of the golden examples, or their labels."""

    def check(context: VerifyContext) -> LargestDifference:
        bundle = context.bundle
        sources = [example.source for example in bundle.golden] or _pictures(bundle)
        if not sources:
            raise NotApplicable("the bundle has no golden examples")
        with TemporaryDirectory(prefix="openwork-") as temporary:
            folder = Path(temporary) / "exported"
            try:
                form.write(folder, bundle)
            except OpenworkError as error:
                raise NotApplicable(error_reason(error)) from error
            read = form.read(folder, None)
        if task_of(bundle.settings.model) == "classify":  # no format has openwork's end symbols
            return same_labels(bundle, read, sources)
        # with the original's decoding settings, which not every format can hold
        settings = read.settings.model_copy(update={"decoding": bundle.settings.decoding})
        now = make_golden(bundle, [example.source for example in bundle.golden]).golden
        return golden(VerifyContext(replace(read, settings=settings, golden=now)))

    return check


def _pictures(bundle: Bundle) -> list[NDArray[np.uint8]]:
    """Random pictures for a model that reads some: a bundle keeps none of its own."""
    picture = bundle.settings.picture
    if picture is None:
        return []
    generator, size = np.random.default_rng(SEED), (picture.height, picture.width)
    shape = size if picture.channels == 1 else (*size, picture.channels)
    return [generator.integers(0, 256, shape, np.uint8) for _ in range(PICTURES)]


def same_labels(bundle: Bundle, read: Bundle, sources: Sequence[Any]) -> LargestDifference:
    """The labels of these sources and their probabilities are those of the original."""

    def labels(of: Bundle) -> list[list[Choice]]:
        found = Labeller(of.model, of.tokenizers, "classify").label(sources)
        return [[place[0] for place in one.places] for one in found]

    apart = [
        abs(one.probability - other.probability) if one.label == other.label else 1.0
        for places in zip(labels(bundle), labels(read), strict=True)
        for one, other in zip(*places, strict=True)
    ]
    if not apart:
        raise NotApplicable("the bundle has no golden examples")
    return _worst_sentence(apart, LABEL_TOLERANCE)


EXPORTED: tuple[Check, ...] = (
    Check("exported-ct2", "exported to CTranslate2 = original", exported(FORMS["ct2"]), ("finite", "written-again")),
    Check("exported-hf", "exported to Hugging Face = original", exported(FORMS["hf"]), ("finite", "written-again")),
    Check("exported-marian", "exported to Marian = original", exported(FORMS["marian"]), ("finite", "written-again")),
)
