"""Which letters belong to scripts that put no spaces between words, and words for comparing texts of any script."""

import re
import unicodedata
from functools import lru_cache

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
