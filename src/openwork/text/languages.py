"""Languages and scripts: codes in the names of files, the script of a letter, and the language of a text.

The language of a text follows from its script, or from py3langid (the extra `languages`) where that is beyond doubt.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from openwork.text.placeholders import without_placeholders

LEAST_LETTERS = 20  # of fewer no language can be recognised
SURE = 0.95  # probability of the other language
LEAST_OF_SCRIPT = 12  # letters; of fewer no script can be recognised
FOREIGN_BELOW = 0.2  # share of the letters that are of the language's scripts
OWN_ABOVE = 0.5  # share of the letters of a script, from which a corpus is in its language
KANA_ABOVE = 0.05  # Japanese mixes them with Han
PORTIONS = 10  # parts of a corpus, each recognised by itself; all of them must agree
LEAST_WORDS = 100  # different ones: what machines write has fewer
# A character of these scripts says as much as some letters.
_DENSE = {"Han": 3, "Hiragana": 2, "Katakana": 2, "Hangul": 3}

_ISO_639_1 = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el "
    "en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu "
    "ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na "
    "nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so "
    "sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu "
)
_CODES = frozenset(_ISO_639_1.split())
_ENDING = re.compile(r"(?:^|[._-])(([a-z]{2})(?:[-_](?:[A-Z]{2}|[A-Z][a-z]{3}|cn|tw|hk))?)$")
_NO_LANGUAGE = re.compile(r"(?:\.(?:txt|text|gz|xz|bz2|zst))+$", re.IGNORECASE)

# The languages of a script that no other language in wide use has.
LANGUAGE_OF_SCRIPT = {
    "Han": "zh", "Hiragana": "ja", "Katakana": "ja", "Hangul": "ko", "Greek": "el", "Hebrew": "he", "Thai": "th",
    "Georgian": "ka", "Armenian": "hy", "Tamil": "ta", "Telugu": "te", "Kannada": "kn", "Malayalam": "ml",
    "Gujarati": "gu", "Gurmukhi": "pa", "Sinhala": "si", "Khmer": "km", "Lao": "lo", "Myanmar": "my", "Tibetan": "bo",
}  # fmt: skip
_SCRIPTS = {
    "Cyrillic": "ru uk bg be mk kk ky mn tg",
    "Arabic": "ar fa ur ps",
    "Devanagari": "hi mr ne",
    "Bengali": "bn as",
    "Ethiopic": "am ti",
    "Latin": "en de fr es it pt nl sv da no nb nn fi is et lv lt pl cs sk sl hr ro hu tr id ms vi sw ca eu gl ga cy mt "
    "sq eo la af tl lb",
}
SCRIPTS_OF_LANGUAGE: dict[str, tuple[str, ...]] = {
    **{language: (script,) for script, languages in _SCRIPTS.items() for language in languages.split()},
    **{language: (script,) for script, language in LANGUAGE_OF_SCRIPT.items()},
    "ja": ("Hiragana", "Katakana", "Han"),
    "ko": ("Hangul", "Han"),
}


def is_language(code: str) -> bool:
    """Whether the code begins with a language of ISO 639-1: `en`, `zh-CN`, `pt_BR`."""
    return re.split("[-_]", code.lower(), maxsplit=1)[0] in _CODES


def language_in_name(name: str) -> str | None:
    """The language with which a file's name ends, endings such as .txt and .gz aside; None where there is none."""
    found = _ENDING.search(_NO_LANGUAGE.sub("", name))
    return found.group(1).replace("_", "-") if found and found.group(2) in _CODES else None


# As Unicode names their letters.
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "BOPOMOFO")
# Unicode's names begin with the script, but for these: (FULLWIDTH) LATIN, and so on.
_NOT_SCRIPTS = frozenset({"FULLWIDTH", "HALFWIDTH", "MODIFIER", "MATHEMATICAL", "SMALL", "CAPITAL", "DOUBLE-STRUCK"})


@lru_cache(maxsize=65_536)
def script_of(letter: str) -> str:
    """By the letter's name in Unicode, which begins with the script: Han, Latin, Cyrillic."""
    words = unicodedata.name(letter, "UNNAMED").replace("-", " ").split()
    first = next((word for word in words if word not in _NOT_SCRIPTS), words[0])
    return "Han" if first in ("CJK", "IDEOGRAPHIC") else first.capitalize()


def written_without_spaces(character: str) -> bool:
    """Whether the character is of a script without spaces between words: Chinese, Japanese, Thai and the like."""
    return unicodedata.name(character, "").startswith(_WITHOUT_SPACES)


_HAN_OR_KANA = r"\u3400-\u9fff\u3040-\u30ff"
_WORDS = re.compile(rf"[{_HAN_OR_KANA}]|[^\W_{_HAN_OR_KANA}]+")


def plain_words(text: str) -> list[str]:
    """The words of a text in small letters, without what stands between them; Han and Kana one by one.

    For comparing texts, not for models: those have tokenizers.
    """
    return _WORDS.findall(text.casefold())


def can_tell_languages() -> bool:
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


def likeliest_language(text: str) -> tuple[str, float] | None:
    """The language that the package takes a text for, and its probability; None without the package."""
    identifier = _identifier()
    if identifier is None:
        return None
    language, share = identifier.classify(text)
    return str(language), float(share)


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
    """The language of all these lines, by a script that is its alone or by the package; None if in doubt."""
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
    characters = Counter(character for line in without_placeholders(lines) for character in line)
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
    languages = {language if probability >= SURE else None for language, probability in found}
    return languages.pop() if len(languages) == 1 else None


def _identifier() -> Any | None:
    try:
        return _loaded(import_module("py3langid.langid"))
    except ImportError:
        return None


@cache
def _loaded(langid: Any) -> Any:
    """Loading takes half a second; that the package is missing is not remembered."""
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
