"""Reads the commands of a shell script or of a pasted command line, without running anything.

Quotes, escapes, line continuations, comments, pipes, redirections, variables and arrays are understood as far as
scripts that start a training use them. Command substitutions ($(...), backticks) stay as they are written, with a
note.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from openwork.base.errors import DataError
from openwork.base.messages import msg

MOST_EXPANDED = 1_000_000
"""Characters that variables may expand to in all: A=$A$A, forty times, would fill the memory."""

# No alternative can take more than linear time: what repeats ends at the first character that cannot belong to it.
_QUOTED = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
_COMMAND = r"`[^`]*`|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^{}]*\}"
_WORD = rf"""(?:{_QUOTED}|{_COMMAND}|[^\s;&|()<>'"\\`]|['"`](?!\n))+|['"`\\]"""
_TOKENS = re.compile(
    rf"(?P<prompt>^[ \t]*[$>][ \t]+)|(?P<comment>(?<!\S)#[^\n]*)|(?P<joined>\\[ \t\r]*(?:\n|\Z))"
    rf"|(?P<array>\b[A-Za-z_]\w*\+?=\((?:{_QUOTED}|{_COMMAND}|\#[^\n]*|[^()])*\))"
    rf"|(?P<redirection>(?:(?<!\S)\d+)?(?:&>|[<>])[<>&]*[ \t]*(?:{_WORD})?)"
    rf"|(?P<end>[;&|()\n])|(?P<word>{_WORD})",
    re.DOTALL | re.MULTILINE,
)
_PIECES = re.compile(rf"{_QUOTED}|[^'\"\\]+|.", re.DOTALL)
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(
    rf"\$(?:(?P<plain>{_NAME})|\{{(?P<braced>{_NAME})(?:\[[@*]\])?(?::?-(?P<default>[^{{}}$`]*))?\}}"
    rf"|(?P<special>[0-9@*#?!$-]))|(?P<kept>{_COMMAND}|\\[$`])"
)
_WHOLE_ARRAY = re.compile(rf'"?\$\{{({_NAME})\[[@*]\]\}}"?')
_ASSIGNMENT = re.compile(rf"({_NAME})(\+?)=(.*)", re.DOTALL)
_BETWEEN = "\0"  # of words, while variables are replaced; no text holds it
_DECLARING = ("export", "local", "readonly", "declare", "typeset")


@dataclass(frozen=True)
class Word:
    """A word of a command, quotes and variables resolved, and the line where it starts."""

    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command's words; `environment` are the assignments before it, as in CUDA_VISIBLE_DEVICES=0 marian ..."""

    words: tuple[Word, ...]
    environment: tuple[Word, ...] = ()


@dataclass
class Script:
    """The commands in their order, and notes on what could not be resolved."""

    commands: list[Command] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_script(text: str, environment: Mapping[str, str]) -> Script:
    """The commands of a text; `environment` gives the variables that the text does not set itself."""
    reading, words, line, counted = _Reading(environment), [], 1, 0
    for token in _TOKENS.finditer(text):
        line, counted, found = line + text.count("\n", counted, token.start()), token.start(), token.group()
        match token.lastgroup:
            case "word":
                words += [Word(value, line) for value in reading.values(found, line)]
            case "array":
                name, _, items = found.partition("=(")
                every = (item.group() for item in _TOKENS.finditer(items[:-1]) if item.lastgroup == "word")
                reading.assign(name, [value for item in every for value in reading.values(item, line)])
            case "joined" if found.strip("\\\n\r"):
                note = msg(f"line {line}: a space follows the backslash; taken for a line that goes on")
                reading.note("\\ ", note)
            case "end":
                reading.end_command(words)
                words = []
    reading.end_command(words)
    return reading.script


class _Reading:
    """The variables of a script as they are at one place of it, and the commands before."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.variables: dict[str, list[str]] = {}
        self.script = Script()
        self.expanded = 0
        self.noted: set[str] = set()

    def note(self, topic: str, note: str) -> None:
        """A note, once for each topic."""
        if topic not in self.noted:
            self.noted.add(topic)
            self.script.notes.append(note)

    def assign(self, name: str, values: list[str]) -> None:
        """A variable's values; a name that ends with + gets them besides those that it has."""
        name, more = name.removesuffix("+"), name.endswith("+")
        self.variables[name] = [*(self.variables.get(name, []) if more else []), *values]

    def end_command(self, words: list[Word]) -> None:
        """Keeps a command, or carries out its assignments if it is nothing else."""
        before: list[Word] = []
        while words and (_ASSIGNMENT.fullmatch(words[0].text) or words[0].text in _DECLARING):
            before.append(words.pop(0))
        if words:
            self.script.commands.append(Command(tuple(words), tuple(w for w in before if "=" in w.text)))
            return
        for word in before:
            if found := _ASSIGNMENT.fullmatch(word.text):
                name, more, value = found.groups()
                self.assign(name, [" ".join(self.variables.get(name, [])) + value if more else value])

    def values(self, raw: str, line: int) -> list[str]:
        """The words that a word comes to: a variable outside of quotes gives as many as it has."""
        if (array := _WHOLE_ARRAY.fullmatch(raw)) and array[1] in self.variables:
            return self.variables[array[1]]
        between = " " if _ASSIGNMENT.fullmatch(raw) else _BETWEEN
        parts: list[str] = []
        for piece in _PIECES.findall(raw):
            if piece.startswith("\\"):
                parts.append(piece[1:])
            elif len(piece) > 1 and piece.startswith(("'", '"')):
                parts.append(self._replaced(piece[1:-1], line, None) if piece.startswith('"') else piece[1:-1])
            else:
                parts.append(self._replaced(piece, line, between))
        text = "".join(parts)
        return text.split(_BETWEEN) if text or not raw.startswith("$") else []

    def _replaced(self, text: str, line: int, between: str | None) -> str:
        """The text with the values of its variables, as they are or with `between` for their spaces."""

        def value(found: re.Match[str]) -> str:
            written = found.group()
            if name := found["plain"] or found["braced"]:
                value = self._look_up(name, found["default"], written, line)
                return value if between is None else between.join(value.split())
            if written.startswith("\\"):
                return written[1:]
            if special := found["special"]:
                self.note(special, msg(f"line {line}: ${special} is known only when the script runs"))
                return written
            shown = " ".join(written.split())
            self.note(shown, msg(f"line {line}: {shown[:60]} is not run, so it stays as it is written"))
            return shown

        return _VARIABLE.sub(value, text)

    def _look_up(self, name: str, default: str | None, written: str, line: int) -> str:
        if name in self.variables:
            value = " ".join(self.variables[name])
            self.expanded += len(value)
            if self.expanded > MOST_EXPANDED:
                raise DataError(
                    f"line {line}: the variables expand to more than {MOST_EXPANDED:,} characters",
                    why="a variable that contains itself several times grows without end",
                    hint="give the command line alone",
                    code="D082",
                )
            return value
        if name in self.environment:
            self.note(name, msg(f"line {line}: ${name} is {self.environment[name]!r}, from the environment"))
            return self.environment[name]
        if default is not None:
            return default
        self.note(name, msg(f"line {line}: ${name} is not set here, so it stays as it is written"))
        return written
