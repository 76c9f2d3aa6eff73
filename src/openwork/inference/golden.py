"""Golden examples: translations that a bundle must give again."""

from collections.abc import Sequence
from dataclasses import replace

from openwork.bundles.bundle import Bundle, Golden
from openwork.inference.translator import BatchTranslator


def make_golden(bundle: Bundle, sources: Sequence[str]) -> Bundle:
    """The same bundle with these sources and what it makes of them."""
    translations = BatchTranslator.of(bundle).translate(sources)
    golden = tuple(
        Golden(source, best.text, best.log_probability)
        for source, (best, *_) in zip(sources, translations, strict=True)
    )
    return replace(bundle, golden=golden)


GOLDEN_TOLERANCE = 1e-2  # nats: other machines add in another order, over a whole translation


def replay_golden(bundle: Bundle, tolerance: float = GOLDEN_TOLERANCE) -> list[tuple[Golden, Golden]]:
    """The golden examples that come out differently now, with what they give; an empty list is what one wants."""
    now = make_golden(bundle, [golden.source for golden in bundle.golden]).golden
    return [
        (then, here)
        for then, here in zip(bundle.golden, now, strict=True)
        if then.translation != here.translation or abs(then.log_probability - here.log_probability) > tolerance
    ]
