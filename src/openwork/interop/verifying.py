"""Checks for `openwork verify`: what a bundle says after it was written in another toolkit's form and read again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from openwork.base.errors import OpenworkError
from openwork.interop.forms import FORMS, Form
from openwork.systems.bundle import make_golden
from openwork.systems.verify.check import Check, Finding, NotApplicable, error_reason
from openwork.systems.verify.keeping import golden
from openwork.systems.verify.subject import Subject


def exported(form: Form) -> Callable[[Subject], Finding]:
    """A check of one form: the translations of the golden examples and their log-probabilities are the original's."""

    def look(subject: Subject) -> Finding:
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
        # searched as the original is, whatever the form can say of searches
        settings = read.settings.model_copy(update={"decoding": bundle.settings.decoding})
        now = make_golden(bundle, [example.source for example in bundle.golden]).golden
        return golden(Subject(replace(read, settings=settings, golden=now)))

    return look


EXPORTED: tuple[Check, ...] = (
    Check("exported-ct2", "exported to CTranslate2 = original", exported(FORMS["ct2"]), ("finite", "written-again")),
    Check("exported-hf", "exported to Hugging Face = original", exported(FORMS["hf"]), ("finite", "written-again")),
)
