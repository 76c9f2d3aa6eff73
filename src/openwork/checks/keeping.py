"""Checks of the bundle as it is kept: written and read again, and beside what it said when it was written."""

from pathlib import Path
from tempfile import TemporaryDirectory

from openwork.base.phrases import AsIs, Joined
from openwork.bundles.bundle import Bundle, Golden, load_bundle, write_bundle
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.subject import Spot, VerifyContext
from openwork.inference.golden import GOLDEN_TOLERANCE, make_golden
from openwork.inspection.parting import TARGET, difference
from openwork.models.weights import model_weights


def written_again(subject: VerifyContext) -> LargestDifference:
    """What is written and read again is the same to the last bit: weights, settings, vocabularies, examples, card."""
    with TemporaryDirectory(prefix="openwork-") as folder:
        write_bundle(Path(folder) / "again", subject.bundle)
        again = load_bundle(Path(folder) / "again")
    apart = _weights_apart(subject.bundle, again)
    worst = max(apart, key=lambda name: apart[name])
    changed = _changed_parts(subject.bundle, again)
    wrong = _changed_reason(changed) if changed else ""
    return LargestDifference(apart[worst], 0.0, Spot(worst) if apart[worst] else None, wrong)


def _weights_apart(bundle: Bundle, again: Bundle) -> dict[str, float]:
    other = model_weights(again.model)
    return {name: float(difference(weight, other[name]).max()) for name, weight in model_weights(bundle.model).items()}


def _changed_parts(bundle: Bundle, again: Bundle) -> list[str]:
    """Which of the other parts are not what they were."""
    parts = {
        "settings": bundle.settings != again.settings,
        "tokenizer": bundle.tokenizers.fingerprint != again.tokenizers.fingerprint,
        "golden examples": bundle.golden != again.golden,
        "card": bundle.card != again.card,
    }
    return [name for name, is_other in parts.items() if is_other]


def _changed_reason(parts: list[str]) -> str:
    return Joined("read again, these are other ones: ", AsIs(", ".join(parts)))


def golden(subject: VerifyContext) -> LargestDifference:
    """The golden examples give the translations and log-probabilities that they gave when the bundle was written."""
    bundle = subject.bundle
    if not bundle.golden:
        raise NotApplicable("the bundle has no golden examples")
    now = make_golden(bundle, [example.source for example in bundle.golden]).golden
    pairs = list(zip(bundle.golden, now, strict=True))
    apart = [abs(then.log_probability - here.log_probability) for then, here in pairs]
    for number, (then, here) in enumerate(pairs):
        if then.translation != here.translation:
            spot = _first_other_piece(subject, number, then, here)
            return LargestDifference(max(apart), GOLDEN_TOLERANCE, spot, _other_reason(then, here))
    worst = apart.index(max(apart))
    spot = Spot(sentence=worst + 1, side=TARGET) if apart[worst] > GOLDEN_TOLERANCE else None
    return LargestDifference(apart[worst], GOLDEN_TOLERANCE, spot)


def _first_other_piece(subject: VerifyContext, number: int, then: Golden, here: Golden) -> Spot:
    """The first piece in which the translations differ."""
    target = subject.bundle.tokenizers.target
    before, after = (target.encode_pieces(one.translation).pieces for one in (then, here))
    same = [one == other for one, other in zip(before, after, strict=False)]
    position = same.index(False) if False in same else len(same)
    piece = after[position] if position < len(after) else ""
    return Spot(side=TARGET, sentence=number + 1, position=position, piece=piece)


def _other_reason(then: Golden, here: Golden) -> str:
    before, after = AsIs(repr(then.translation)), AsIs(repr(here.translation))
    return Joined(AsIs(repr(then.source)), " gave ", before, ", now ", after)
