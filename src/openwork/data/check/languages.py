"""Sides in another language than the corpus is said to be in (the extra `languages`)."""

from collections.abc import Iterable, Iterator

from openwork.base.errors import UsageError
from openwork.data.check.faults import Fault, FaultKind
from openwork.data.records import Pair
from openwork.text.languages import can_tell_languages, other_language

LANGUAGE = FaultKind("another language")


def language_faults(pairs: Iterable[Pair], languages: tuple[str, str]) -> Iterator[Fault]:
    """Pairs one side of which is surely in another language; UsageError without the package."""
    if not can_tell_languages():
        raise UsageError(
            "telling languages needs the package py3langid, which is not installed",
            hint="pip install py3langid (the extra languages), or leave --languages out",
            code="U033",
        )
    for line, pair in enumerate(pairs, start=1):
        for side, wanted in zip(pair, languages, strict=True):
            found = other_language(side, wanted)
            if found is not None:
                yield Fault(LANGUAGE, line, f"{found}: {side}")
