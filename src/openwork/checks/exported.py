"""Checks for `openwork verify`: a bundle exported to another toolkit's format and read again gives the same."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from openwork.base.errors import OpenworkError
from openwork.base.tasks import task_of
from openwork.bundles.bundle import Bundle
from openwork.checks.check import Check, LargestDifference, NotApplicable, error_reason
from openwork.checks.context import Spot, VerifyContext
from openwork.checks.keeping import golden
from openwork.inference.golden import make_golden
from openwork.inference.labeller import Choice, Labeller
from openwork.inspection.parting import TARGET
from openwork.interop.forms import FORMS, ModelFormat

LABEL_TOLERANCE = 1e-4  # of a probability


def exported(form: ModelFormat) -> Callable[[VerifyContext], LargestDifference]:
    """A check of one format: translations and log-probabilities of the golden examples, or their labels."""

    def check(context: VerifyContext) -> LargestDifference:
        bundle = context.bundle
        if not bundle.golden:
            raise NotApplicable("the bundle has no golden examples")
        with TemporaryDirectory(prefix="openwork-") as temporary:
            folder = Path(temporary) / "exported"
            try:
                form.write(folder, bundle)
            except OpenworkError as error:
                raise NotApplicable(error_reason(error)) from error
            read = form.read(folder, None)
        if task_of(bundle.settings.model) == "classify":  # no format has openwork's end symbols
            return same_labels(bundle, read)
        # with the original's decoding settings, which not every format can hold
        settings = read.settings.model_copy(update={"decoding": bundle.settings.decoding})
        now = make_golden(bundle, [example.source for example in bundle.golden]).golden
        return golden(VerifyContext(replace(read, settings=settings, golden=now)))

    return check


def same_labels(bundle: Bundle, read: Bundle) -> LargestDifference:
    """The labels of the golden examples and their probabilities are those of the original."""

    def labels(of: Bundle) -> list[list[Choice]]:
        found = Labeller(of.model, of.tokenizers, "classify").label([example.source for example in bundle.golden])
        return [[place[0] for place in one.places] for one in found]

    apart = [
        abs(one.probability - other.probability) if one.label == other.label else 1.0
        for places in zip(labels(bundle), labels(read), strict=True)
        for one, other in zip(*places, strict=True)
    ]
    if not apart:
        raise NotApplicable("the bundle has no golden examples")
    worst = apart.index(max(apart))
    spot = Spot(sentence=worst + 1, side=TARGET) if apart[worst] > LABEL_TOLERANCE else None
    return LargestDifference(apart[worst], LABEL_TOLERANCE, spot)


EXPORTED: tuple[Check, ...] = (
    Check("exported-ct2", "exported to CTranslate2 = original", exported(FORMS["ct2"]), ("finite", "written-again")),
    Check("exported-hf", "exported to Hugging Face = original", exported(FORMS["hf"]), ("finite", "written-again")),
)
