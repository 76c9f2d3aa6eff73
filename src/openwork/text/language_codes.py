"""Language codes: in the names of files (`train.en`, `corpus.zh-CN.gz`), and the scripts of languages."""

import re

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
    ("Cyrillic",): "ru uk bg be mk kk ky mn tg",
    ("Arabic",): "ar fa ur ps",
    ("Devanagari",): "hi mr ne",
    ("Bengali",): "bn as",
    ("Ethiopic",): "am ti",
    (
        "Latin",
    ): "en de fr es it pt nl sv da no nb nn fi is et lv lt pl cs sk sl hr ro hu tr id ms vi sw ca eu gl ga cy mt "
    "sq eo la af tl lb",
}
SCRIPTS_OF_LANGUAGE: dict[str, tuple[str, ...]] = {
    **{language: scripts for scripts, languages in _SCRIPTS.items() for language in languages.split()},
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
