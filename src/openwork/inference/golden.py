"""Golden examples: translations that a bundle must reproduce."""

from collections.abc import Sequence
from dataclasses import replace

from openwork.bundles.bundle import Bundle, Golden
from openwork.inference.translator import BatchTranslator


def make_golden(bundle: Bundle, sources: Sequence[str]) -> Bundle:
    """The bundle with golden examples: these sources and its translations of them.

    None of sources that are files: a bundle holds all that it needs, and they are outside of it.
    """
    if bundle.tokenizers.encoder.numbers is not None:
        return bundle
    translations = BatchTranslator.of(bundle).translate(sources)
    golden = tuple(
        Golden(source, best.text, best.log_probability)
        for source, (best, *_) in zip(sources, translations, strict=True)
    )
    return replace(bundle, golden=golden)


GOLDEN_TOLERANCE = 1e-2  # nats: other machines add in another order, over a whole translation


def replay_golden(bundle: Bundle, tolerance: float = GOLDEN_TOLERANCE) -> list[tuple[Golden, Golden]]:
    """The golden examples whose translation has changed, each with the new one; an empty list is right."""
    now = make_golden(bundle, [golden.source for golden in bundle.golden]).golden
    return [
        (then, here)
        for then, here in zip(bundle.golden, now, strict=True)
        if then.translation != here.translation or abs(then.log_probability - here.log_probability) > tolerance
    ]
