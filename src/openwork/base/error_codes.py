"""The code of an error, such as D014: found by its sentence in `errors.toml`, which is read when an error is shown.

docs/errors.md has each code with its cause, its remedy and a test that provokes it.
"""

import tomllib
from functools import cache
from importlib import resources

from openwork.base.errors import BundleError, ConfigError, DataError, OpenworkError, UsageError
from openwork.base.messages import GAP, Template

LETTERS: dict[type[OpenworkError], str] = {
    UsageError: "U",
    DataError: "D",
    ConfigError: "C",
    BundleError: "B",
    OpenworkError: "E",
}
RETIRED = "retired"  # the table of codes that stand for nothing any more


def letter_of(kind: type[OpenworkError]) -> str:
    """The letter that all codes of this kind of error begin with."""
    return next(LETTERS[known] for known in kind.__mro__ if known in LETTERS)


def code_of(error: OpenworkError) -> str:
    """The code of the surest sentence that this is; empty for an error that the table does not know."""
    for code, sentence in codes(letter_of(type(error))):
        if Template(tuple(sentence.split(GAP)), "").match(error.what) is not None:
            return code
    return ""


@cache
def codes(letter: str) -> tuple[tuple[str, str], ...]:
    """The codes with this letter and their sentences, the most fixed characters first."""
    found = [(code, sentence) for code, sentence in read_codes().items() if code.startswith(letter)]
    return tuple(sorted(found, key=lambda entry: -len(entry[1].replace(GAP, ""))))


@cache
def read_codes() -> dict[str, str]:
    """Every code in use with its sentence, `{}` for each part that varies, in the order of the file."""
    text = resources.files("openwork.base").joinpath("errors.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    return {code: sentence for name, table in tables.items() if name != RETIRED for code, sentence in table.items()}
