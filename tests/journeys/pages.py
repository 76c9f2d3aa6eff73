"""The commands of the how-to pages: shell blocks of README and docs/, each run or marked as not run with its reason."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
HOW_TO = (
    "README.md",
    "docs/install.md",
    "docs/translator.md",
    "docs/smaller.md",
    "docs/recipes.md",
    "docs/clusters.md",
    "docs/bulk.md",
    "docs/experiments.md",
    "docs/look-inside.md",
    "docs/family.md",
)
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `reason` says why a shell block is not run."""

    language: str
    text: str
    reason: str | None

    @property
    def lines(self) -> list[str]:
        """The commands without their comments, which differ between languages."""
        return [re.sub(r"\s+#.*", "", line) for line in self.text.splitlines() if line and not line.startswith("#")]


@dataclass(frozen=True)
class Command:
    """One command line: the words of openwork's own part, what is piped into it, and files for its streams."""

    words: list[str]
    given: str
    source: str | None
    target: str | None

    @classmethod
    def of(cls, line: str) -> "Command":
        """Reads `echo TEXT | openwork ...`, and `openwork ... < FILE > FILE`."""
        reader = shlex.shlex(line, posix=True, punctuation_chars="|<>")
        reader.whitespace_split = True
        words = list(reader)
        given = ""
        if "|" in words:
            place = words.index("|")
            echo, *texts = words[:place]
            assert echo == "echo", line
            given, words = " ".join(texts) + "\n", words[place + 1 :]
        source, target = (_taken(words, sign) for sign in "<>")
        assert words[0] == "openwork" and not set(words) & {"|", "<", ">", "&&", ";"}, line
        return cls(words[1:], given, source, target)


def _taken(words: list[str], sign: str) -> str | None:
    """The word behind a sign; both are removed."""
    if sign not in words:
        return None
    place = words.index(sign)
    _, name = words[place : place + 2]
    del words[place : place + 2]
    return name


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in BLOCK.finditer((REPOSITORY / page).read_text(encoding="utf-8")):
        yield Block(found["language"], found["text"], found["reason"])


def shell_blocks(page: str) -> list[Block]:
    """Those that hold commands."""
    return [block for block in blocks(page) if block.language == "sh"]
