"""Sides in another language than the corpus is said to be in, by py3langid (the extra `languages`)."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from openwork.base.errors import UsageError
from openwork.data.check.faults import Fault, FaultKind
from openwork.data.records import Pair

LANGUAGE = FaultKind("another language")
LEAST_LETTERS = 20  # of fewer no language can be told
SURE = 0.95  # probability of the other language


def language_faults(pairs: Sequence[Pair], languages: tuple[str, str]) -> Iterator[Fault]:
    """Pairs one side of which is surely in another language; UsageError without the package."""
    identifier = _identifier()
    for line, pair in enumerate(pairs, start=1):
        for side, wanted in zip(pair, languages, strict=True):
            if sum(map(str.isalpha, side)) < LEAST_LETTERS:
                continue
            found, probability = identifier.classify(side)
            if found != wanted.partition("-")[0] and probability >= SURE:
                yield Fault(LANGUAGE, line, f"{found}: {side}")


def _identifier() -> Any:
    try:
        langid = import_module("py3langid.langid")
    except ImportError as error:
        raise UsageError(
            "telling languages needs the package py3langid, which is not installed",
            hint='pip install "openwork[languages]", or leave --languages out',
        ) from error
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
