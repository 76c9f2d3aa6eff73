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

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=(.*)", re.DOTALL)
_BRACED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)(\[[@*]\])?(?::?-([^{}$`]*))?\}")
_DECLARING = ("export", "local", "readonly", "declare", "typeset")
_SPECIAL = frozenset("0123456789@*#?!$-")
_PLAIN = re.compile(r"[^\\'\"$`\s<>&();|]+")
_PLAIN_IN_QUOTES = re.compile(r'[^\\"$`\n]+')


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
    return _Reading(text, environment).read()


class _Reading:
    """One pass over a text, character by character."""

    def __init__(self, text: str, environment: Mapping[str, str]) -> None:
        self.text = text
        self.position = 0
        self.line = 1
        self.environment = environment
        self.variables: dict[str, list[str]] = {}
        self.script = Script()
        self.words: list[Word] = []
        self.word: str | None = None  # None between words, "" in an empty quoted one
        self.word_line = 1
        self.skip_word = False  # the file name of a redirection
        self.array: str | None = None  # the variable whose array is being read
        self.outside: list[Word] = []  # the command that the array interrupts
        self.expanded = 0
        self.noted: set[str] = set()

    def read(self) -> Script:
        while self.position < len(self.text):
            self._step(self.text[self.position])
        self._end_command()
        return self.script

    def _step(self, character: str) -> None:
        match character:
            case "\\":
                self._escape()
            case "'":
                end = self._find("'", self.position + 1)
                inside = self.text[self.position + 1 : end]
                self._add(inside)
                self.line += inside.count("\n")
                self.position = end + 1
            case '"':
                self._double_quoted()
            case "$" if not (self._at_start() and self._next() in (" ", "\t")):
                self._expand(quoted=False)
            case "`":
                self._keep_command("`", "`")
            case "#" if self.word is None:
                self.position = self._find("\n", self.position)
            case "\n":
                (self._end_command if self.array is None else self._end_word)()
                self.line += 1
                self.position += 1
            case "<" | ">" if not self._at_start():
                self._redirect()
            case "&" if self._next() == ">":
                self.position += 1
                self._redirect()
            case "(" if self.word is not None and _ASSIGNMENT.fullmatch(self.word):
                self._begin_array(self.word)
            case ")" if self.array is not None:
                self._end_array()
            case ";" | "&" | "|" | "(" | ")":
                self._end_command()
                self.position += 1
            case " " | "\t" | "\r" | "\f" | "\v":
                self._end_word()
                self.position += 1
            case ">" | "$":  # the prompt of a line that was copied from a manual
                self.position += 1
            case _:
                self._add_run(_PLAIN)

    def _at_start(self) -> bool:
        return self.word is None and not self.words

    def _next(self) -> str:
        return self.text[self.position + 1 : self.position + 2]

    def _find(self, what: str, start: int) -> int:
        found = self.text.find(what, start)
        return found if found >= 0 else len(self.text)

    def _add(self, text: str) -> None:
        if self.word is None:
            self.word, self.word_line = "", self.line
        self.word += text

    def _add_run(self, pattern: re.Pattern[str]) -> None:
        """The characters from here on that mean nothing but themselves."""
        found = pattern.match(self.text, self.position)
        run = found.group() if found else self.text[self.position]
        self._add(run)
        self.position += len(run)

    def _escape(self) -> None:
        rest = re.compile(r"\\[ \t\r]*(\n|$)").match(self.text, self.position)
        if rest:  # the line goes on
            if rest.group().strip("\\\n\r"):
                self._note(
                    "\\ ", msg(f"line {self.line}: a space follows the backslash; taken for a line that goes on")
                )
            self._end_word()
            self.position = rest.end()
            self.line += 1
        else:
            self._add(self._next())
            self.position += 2

    def _double_quoted(self) -> None:
        self._add("")
        self.position += 1
        while self.position < len(self.text) and self.text[self.position] != '"':
            character = self.text[self.position]
            if character == "\\" and self._next() in ('"', "\\", "$", "`", "\n"):
                self.line += self._next() == "\n"
                self._add(self._next().strip("\n"))
                self.position += 2
            elif character == "$":
                self._expand(quoted=True)
            else:
                self.line += character == "\n"
                self._add_run(_PLAIN_IN_QUOTES)
        self.position += 1

    def _expand(self, *, quoted: bool) -> None:
        start = self.position + 1
        braced = _BRACED.match(self.text, start)
        plain = _NAME.match(self.text, start)
        if braced:
            self.position = braced.end()
            values = self._look_up(braced.group(1), braced.group(3), braced.group())
            self._insert(values, split=not quoted, whole=quoted and braced.group(2) is None)
        elif plain:
            self.position = plain.end()
            values = self._look_up(plain.group(), None, plain.group())
            self._insert(values, split=not quoted, whole=quoted)
        elif self.text.startswith("(", start):
            self._keep_command("$(", ")")
        elif self.text.startswith("{", start):
            self._keep_command("${", "}")
        elif self._next() in _SPECIAL:
            self._note(self._next(), msg(f"line {self.line}: ${self._next()} is known only when the script runs"))
            self._add(self.text[self.position : start + 1])
            self.position = start + 1
        else:
            self._add("$")
            self.position = start

    def _look_up(self, name: str, default: str | None, written: str) -> list[str]:
        if name in self.variables:
            return self.variables[name]
        if name in self.environment:
            self._note(name, msg(f"line {self.line}: ${name} is {self.environment[name]!r}, from the environment"))
            return [self.environment[name]]
        if default is not None:
            return [default]
        self._note(name, msg(f"line {self.line}: ${name} is not set here, so it stays as it is written"))
        return [f"${written}"]

    def _note(self, topic: str, note: str) -> None:
        """A note, once for each topic."""
        if topic not in self.noted:
            self.noted.add(topic)
            self.script.notes.append(note)

    def _insert(self, values: list[str], *, split: bool, whole: bool) -> None:
        """A variable's value: one word in quotes, and outside of them as many as it has."""
        if split and not _ASSIGNMENT.fullmatch(self.word or ""):
            values = [part for value in values for part in value.split()]
        elif whole or split:
            values = [" ".join(values)]
        self.expanded += sum(map(len, values))
        if self.expanded > MOST_EXPANDED:
            raise DataError(
                f"line {self.line}: the variables expand to more than {MOST_EXPANDED:,} characters",
                why="a variable that contains itself several times grows without end",
                hint="give the command line alone",
                code="D082",
            )
        for index, value in enumerate(values):
            if index:
                self._end_word()
            self._add(value)

    def _keep_command(self, opening: str, closing: str) -> None:
        """A command substitution, which stays as it is written, with nested ones."""
        depth, end = 0, self.position
        while end < len(self.text):
            if closing != "`" and self.text.startswith(opening[-1], end):
                depth += 1
            elif self.text.startswith(closing, end) and end > self.position:
                depth -= 1
                if depth <= 0:
                    break
            end += 1
        written = self.text[self.position : end + 1]
        shown = " ".join(written.split())
        self._note(shown, msg(f"line {self.line}: {shown[:60]} is not run, so it stays as it is written"))
        self._add(shown)
        self.line += written.count("\n")
        self.position = end + 1

    def _redirect(self) -> None:
        if self.word is not None and self.word.isdecimal():
            self.word = None  # the 2 of 2>
        self._end_word()
        while self.position < len(self.text) and self.text[self.position] in "<>&":
            self.position += 1
        self.skip_word = True

    def _end_word(self) -> None:
        if self.word is None:
            return
        word, self.word = Word(self.word, self.word_line), None
        if self.skip_word:
            self.skip_word = False
        else:
            self.words.append(word)

    def _begin_array(self, assignment: str) -> None:
        self.array, self.word = assignment.rstrip("=+"), None
        self.outside, self.words = self.words, []
        if not assignment.endswith("+="):
            self.variables[self.array] = []
        self.position += 1

    def _end_array(self) -> None:
        self._end_word()
        items = [word.text for word in self.words]
        self.variables.setdefault(str(self.array), []).extend(items)
        self.array, self.words = None, self.outside
        self.position += 1

    def _end_command(self) -> None:
        self._end_word()
        self.skip_word = False
        words, self.words = self.words, []
        before: list[Word] = []
        while words and (_ASSIGNMENT.fullmatch(words[0].text) or words[0].text in _DECLARING):
            before.append(words.pop(0))
        if words:
            self.script.commands.append(Command(tuple(words), tuple(w for w in before if "=" in w.text)))
            return
        for word in before:
            if found := _ASSIGNMENT.fullmatch(word.text):
                old = " ".join(self.variables.get(found.group(1), [])) if found.group(2) else ""
                self.variables[found.group(1)] = [old + found.group(3)]
