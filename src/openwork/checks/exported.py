"""Checks for `openwork verify`: what a bundle says after it was written in another toolkit's form and read again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from openwork.base.errors import OpenworkError
from openwork.base.tasks import task_of
from openwork.bundles.bundle import Bundle
from openwork.checks.check import Check, LargestDifference, NotApplicable, error_reason
from openwork.checks.keeping import golden
from openwork.checks.subject import Spot, VerifyContext
from openwork.inference.golden import make_golden
from openwork.inference.labeller import Choice, Labeller
from openwork.inspection.parting import TARGET
from openwork.interop.forms import FORMS, ModelFormat


def exported(form: ModelFormat) -> Callable[[VerifyContext], LargestDifference]:
    """A check of one form: the golden examples' translations with their log-probabilities, or their labels."""

    def look(subject: VerifyContext) -> LargestDifference:
        bundle = subject.bundle
        if not bundle.golden:
            raise NotApplicable("the bundle has no golden examples")
        with TemporaryDirectory(prefix="openwork-") as temporary:
            folder = Path(temporary) / "exported"
            try:
                form.write(folder, bundle)
            except OpenworkError as error:
                raise NotApplicable(error_reason(error)) from error
            read = form.read(folder, None)
        if task_of(bundle.settings.model) == "classify":  # no form has the symbols that end our targets
            return same_labels(bundle, read)
        # searched as the original is, whatever the form can say of searches
        settings = read.settings.model_copy(update={"decoding": bundle.settings.decoding})
        now = make_golden(bundle, [example.source for example in bundle.golden]).golden
        return golden(VerifyContext(replace(read, settings=settings, golden=now)))

    return look


def same_labels(bundle: Bundle, read: Bundle) -> LargestDifference:
    """The labels of the golden examples with their probabilities are the original's."""
    sources = [example.source for example in bundle.golden]
    apart = [
        abs(one.probability - other.probability) if one.label == other.label else 1.0
        for places in zip(*(_labelled(each, sources) for each in (bundle, read)), strict=True)
        for one, other in zip(*places, strict=True)
    ]
    if not apart:
        raise NotApplicable("the bundle has no golden examples")
    worst = apart.index(max(apart))
    spot = Spot(sentence=worst + 1, side=TARGET) if apart[worst] > LABEL_TOLERANCE else None
    return LargestDifference(apart[worst], LABEL_TOLERANCE, spot)


def _labelled(bundle: Bundle, sources: list[str]) -> list[list[Choice]]:
    """Of each source the label of each place, as many as it has."""
    found = Labeller(bundle.model, bundle.tokenizers, "classify").label(sources)
    return [[place[0] for place in one.places] for one in found]


LABEL_TOLERANCE = 1e-4  # of a probability

EXPORTED: tuple[Check, ...] = (
    Check("exported-ct2", "exported to CTranslate2 = original", exported(FORMS["ct2"]), ("finite", "written-again")),
    Check("exported-hf", "exported to Hugging Face = original", exported(FORMS["hf"]), ("finite", "written-again")),
)
