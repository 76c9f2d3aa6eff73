"""Which language a text is in, by py3langid (the extra `languages`), where that is beyond doubt."""

from functools import cache
from importlib import import_module
from typing import Any

LEAST_LETTERS = 20  # of fewer no language can be told
SURE = 0.95  # probability of the other language


def can_tell_languages() -> bool:
    """Whether the package is there."""
    return _identifier() is not None


def other_language(text: str, wanted: str) -> str | None:
    """The language that the text is surely in, where that is not the wanted one (`de`, `zh-CN`); None otherwise.

    None also for short texts, for wanted languages that the package does not know, and without the package.
    """
    identifier, wanted = _identifier(), wanted.partition("-")[0]
    if identifier is None or wanted not in identifier.labels or sum(map(str.isalpha, text)) < LEAST_LETTERS:
        return None
    found, probability = identifier.classify(text)
    return found if found != wanted and probability >= SURE else None


def _identifier() -> Any | None:
    try:
        return _loaded(import_module("py3langid.langid"))
    except ImportError:
        return None


@cache
def _loaded(langid: Any) -> Any:
    """Loading takes half a second; that the package is missing is not remembered."""
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
