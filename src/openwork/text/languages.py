"""Which language a text is in: by its script, or by py3langid (the extra `languages`) where that is beyond doubt."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from openwork.text.language_codes import LANGUAGE_OF_SCRIPT, SCRIPTS_OF_LANGUAGE
from openwork.text.placeholders import WithoutPlaceholders
from openwork.text.scripts import script_of

LEAST_LETTERS = 20  # of fewer no language can be told
SURE = 0.95  # probability of the other language
LEAST_OF_SCRIPT = 12  # letters; of fewer no script can be told
FOREIGN_BELOW = 0.2  # share of the letters that are of the language's scripts
OWN_ABOVE = 0.5  # share of the letters of a script, from which a corpus is in its language
KANA_ABOVE = 0.05  # Japanese mixes them with Han
PORTIONS = 10  # parts of a corpus that are told apart; all of them must agree
LEAST_WORDS = 100  # different ones: what machines write has fewer
# A character of these scripts says as much as some letters.
_DENSE = {"Han": 3, "Hiragana": 2, "Katakana": 2, "Hangul": 3}


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


def in_other_script(text: str, wanted: str) -> bool:
    """Whether the text is written in other letters than the wanted language (`zh`, `pt-BR`) is.

    Placeholders and addresses do not count. False for short texts, and for languages of several scripts.
    """
    own = SCRIPTS_OF_LANGUAGE.get(wanted.partition("-")[0])
    if own is None:
        return False
    letters = _letters([text])
    return letters.total() >= LEAST_OF_SCRIPT and sum(letters[s] for s in own) < FOREIGN_BELOW * letters.total()


def language_of_lines(lines: Sequence[str]) -> str | None:
    """The language that all these lines are in: by a script that is its alone, or by the package if it is there.

    None where there is doubt.
    """
    letters = _letters(lines)
    if letters.total() < LEAST_OF_SCRIPT:
        return None
    if letters["Hiragana"] + letters["Katakana"] > KANA_ABOVE * letters.total():
        return "ja"
    script, count = letters.most_common(1)[0]
    if count <= OWN_ABOVE * letters.total():
        return None
    return LANGUAGE_OF_SCRIPT.get(script) or _language_of_portions(lines)


def _letters(lines: Sequence[str]) -> Counter[str]:
    """How many letters there are of each script, those that say more counted more than once."""
    characters = Counter(character for line in WithoutPlaceholders(lines) for character in line)
    letters: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            script = script_of(character)
            letters[script] += count * _DENSE.get(script, 1)
    return letters


def _language_of_portions(lines: Sequence[str]) -> str | None:
    """By the package, where it says the same of every portion of the lines."""
    if len({word for line in lines for word in line.split()}) < LEAST_WORDS:
        return None
    identifier = _identifier()
    if identifier is None:
        return None
    portions = [" ".join(lines[first::PORTIONS]) for first in range(PORTIONS)]
    found = [identifier.classify(portion) for portion in portions if portion.strip()]
    languages = {language for language, probability in found if probability >= SURE}
    sure = all(probability >= SURE for _, probability in found)
    return languages.pop() if sure and len(languages) == 1 else None


def _identifier() -> Any | None:
    try:
        return _loaded(import_module("py3langid.langid"))
    except ImportError:
        return None


@cache
def _loaded(langid: Any) -> Any:
    """Loading takes half a second; that the package is missing is not remembered."""
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
