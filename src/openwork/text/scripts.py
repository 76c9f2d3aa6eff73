"""Which letters belong to scripts that put no spaces between words."""

import unicodedata

# As Unicode names their letters.
_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "BOPOMOFO")


def written_without_spaces(character: str) -> bool:
    """Whether the character is of a script without spaces between words: Chinese, Japanese, Thai and the like."""
    return unicodedata.name(character, "").startswith(_WITHOUT_SPACES)
