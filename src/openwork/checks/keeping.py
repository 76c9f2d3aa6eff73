"""Checks of the bundle's files: written and read again, and compared with its golden examples."""

from pathlib import Path
from tempfile import TemporaryDirectory

from openwork.base.phrases import AsIs, Joined
from openwork.bundles.bundle import Golden, load_bundle, write_bundle
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.context import Spot, VerifyContext
from openwork.inference.golden import GOLDEN_TOLERANCE, make_golden
from openwork.inspection.parting import TARGET, difference
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
    worst = apart.index(max(apart))
    spot = Spot(sentence=worst + 1, side=TARGET) if apart[worst] > GOLDEN_TOLERANCE else None
    return LargestDifference(apart[worst], GOLDEN_TOLERANCE, spot)


def _first_other_piece(context: VerifyContext, number: int, then: Golden, here: Golden) -> Spot:
    """The first piece in which the translations differ."""
    target = context.bundle.tokenizers.target
    before, after = (target.encode_pieces(one.translation).pieces for one in (then, here))
    same = [one == other for one, other in zip(before, after, strict=False)]
    position = same.index(False) if False in same else len(same)
    piece = after[position] if position < len(after) else ""
    return Spot(side=TARGET, sentence=number + 1, position=position, piece=piece)
