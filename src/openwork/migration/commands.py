"""Extracts the options of a toolkit's programs from the commands of a script."""

import re
from collections.abc import Sequence
from pathlib import PurePath

from openwork.base.messages import msg
from openwork.migration.options import ExternalOption, Value
from openwork.migration.rules import Toolkit
from openwork.migration.shell import Command, Script, Word

_OPTION = re.compile(r"--?[A-Za-z][\w.-]*(=.*)?", re.DOTALL)
_ASSIGNED = re.compile(r"(\+{0,2}[A-Za-z_][\w.]*)=(.*)", re.DOTALL)
LAUNCHER, ENVIRONMENT = "launcher", "environment"
"""Prefixes of the names of options that belong to no program of the toolkit."""
_SUBCOMMANDS = ("train", "translate", "test", "build_vocab", "predict")


def find_programs(script: Script, toolkit: Toolkit, *, ambiguous: bool = False) -> list[tuple[str, Command, int]]:
    """The commands that start a program of the toolkit: prefix of its options, command, index of its first argument."""
    programs = {**toolkit.programs, **(toolkit.ambiguous_programs if ambiguous else {})}
    places = [_program(command, programs) for command in script.commands]
    return [place for place in places if place is not None]


def _program(command: Command, programs: dict[str, str]) -> tuple[str, Command, int] | None:
    for index, word in enumerate(command.words, start=1):
        if word.text == "-m" or not _OPTION.fullmatch(word.text):
            for name, prefix in programs.items():
                if name in (word.text, PurePath(word.text).name) or word.text.endswith(f"/{name}"):
                    return prefix, command, index
    return None


def shown_options(script: Script) -> list[str]:
    """Every word of a script that looks like an option, for recognising the toolkit."""
    words = (word.text for command in script.commands for word in command.words)
    return [text.partition("=")[0] for text in words if _OPTION.fullmatch(text)]


def read_options(script: Script, toolkit: Toolkit, file: str, notes: list[str]) -> list[ExternalOption]:
    """The options of the toolkit's programs, for each program those of its first command."""
    programs = find_programs(script, toolkit) or find_programs(script, toolkit, ambiguous=True)
    if not programs:
        with_options = (c for c in script.commands if any(_OPTION.fullmatch(word.text) for word in c.words))
        programs = [("", command, 0) for command in with_options]
    options: list[ExternalOption] = []
    seen: set[str] = set()
    for prefix, command, start in programs:
        if prefix in seen:
            line, program = command.words[0].line, " ".join(word.text for word in command.words[:start])[-40:]
            notes.append(msg(f"line {line}: a second {program!r} is left out"))
            continue
        seen.add(prefix)
        for word in command.environment:
            name, _, value = word.text.partition("=")
            options.append(ExternalOption(f"{ENVIRONMENT} {name}", name, value, file, word.line))
        options.extend(_launcher(command.words[: max(start - 1, 0)], file))
        options.extend(_command_options(command.words[start:], toolkit, prefix, file))
    return options


def _launcher(words: Sequence[Word], file: str) -> list[ExternalOption]:
    options = []
    for index, word in enumerate(words):
        if _OPTION.fullmatch(word.text) and word.text != "-m":
            shown, _, value = word.text.partition("=")
            following = words[index + 1].text if index + 1 < len(words) else "-"
            value = value or ("" if following.startswith("-") else following)
            options.append(ExternalOption(f"{LAUNCHER} {shown}", shown, value or True, file, word.line))
    return options


def _command_options(words: Sequence[Word], toolkit: Toolkit, prefix: str, file: str) -> list[ExternalOption]:
    options: list[ExternalOption] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if not _OPTION.fullmatch(word.text):
            options.extend(_lone_word(word, toolkit, prefix, file, first=not options))
            continue
        shown, equals, value = word.text.partition("=")
        name = toolkit.option_name(shown, prefix)
        values: list[str] = [value] if equals else []
        most = 0 if equals else len(words) if toolkit.flags is None else int(name not in toolkit.flags)
        for following in words[position : position + most]:
            if _OPTION.fullmatch(following.text):
                break
            values.append(following.text)
            position += 1
        found: Value = True if not values else values[0] if len(values) == 1 else values
        options.append(ExternalOption(name, shown, found, file, word.line))
    return options


def _lone_word(word: Word, toolkit: Toolkit, prefix: str, file: str, *, first: bool) -> list[ExternalOption]:
    """A word that belongs to no option: a file, a subcommand, or one of hydra's assignments."""
    if first and word.text in _SUBCOMMANDS:
        return []
    assigned = _ASSIGNED.fullmatch(word.text)
    if assigned:
        name = toolkit.option_name(assigned.group(1), prefix)
        return [ExternalOption(name, assigned.group(1), assigned.group(2).strip("[]"), file, word.line)]
    return [ExternalOption(f"{prefix}{toolkit.positional or 'word'}", word.text, "", file, word.line)]
