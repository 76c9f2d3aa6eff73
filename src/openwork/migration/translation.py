"""Translates the configuration of another toolkit, which it recognises, into a run file: a verdict on each option."""

import itertools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openwork.base.config import Layer
from openwork.base.errors import ConfigError, DataError, UsageError
from openwork.base.files import read_lines
from openwork.base.messages import msg, nearest
from openwork.base.phrases import Joined
from openwork.migration.commands import ENVIRONMENT, LAUNCHER, find_programs, read_options, shown_options
from openwork.migration.draft import Draft, DraftLine, OptionVerdict
from openwork.migration.eole import EOLE
from openwork.migration.fairseq import FAIRSEQ
from openwork.migration.joeynmt import JOEYNMT
from openwork.migration.marian import MARIAN
from openwork.migration.opennmt import OPENNMT
from openwork.migration.options import ExternalOption, read_yaml, text
from openwork.migration.rules import Toolkit
from openwork.migration.shell import Script, read_script
from openwork.migration.sockeye import SOCKEYE
from openwork.runs.file.resolve import resolve_run
from openwork.runs.file.settings import RunSettings

TOOLKITS = {toolkit.name: toolkit for toolkit in (FAIRSEQ, OPENNMT, EOLE, MARIAN, SOCKEYE, JOEYNMT)}
FEWEST_KNOWN = 2
"""Options of a toolkit that one of its files must have, to be recognised."""


def toolkit_named(name: str) -> Toolkit:
    """The toolkit of this name; UsageError with the nearest one where there is none."""
    if name.lower() in TOOLKITS:
        return TOOLKITS[name.lower()]
    raise UsageError(
        f"no such toolkit: {name!r}",
        why=f"toolkits: {', '.join(TOOLKITS)}",
        hint=nearest(name.lower(), TOOLKITS) or "leave --toolkit out: openwork finds it from the file",
        code="U058",
    )


def recognise(shown: Sequence[str], file: str) -> Toolkit:
    """The toolkit that knows most of the options, given as they stand in the file; DataError where that is unclear."""
    known = {
        name: sum(toolkit.knows(toolkit.option_name(option)) for option in shown) for name, toolkit in TOOLKITS.items()
    }
    best, second, *_ = sorted(known, key=lambda name: -known[name])
    if known[best] < FEWEST_KNOWN or known[best] == known[second]:
        looked_for = "; ".join(f"{toolkit.title}: {toolkit.signs}" for toolkit in TOOLKITS.values())
        raise DataError(
            f"{file}: it is not clear which toolkit this configuration is for",
            why=f"looked for {looked_for}",
            hint=f"name it with --toolkit, one of: {', '.join(TOOLKITS)}",
            code="D083",
        )
    return TOOLKITS[best]


MOST_LINES = 20_000
"""Lines of a configuration; a file with more is a corpus, given by mistake."""
_YAML_START = re.compile(r"[\w.-]+\s*:(?:\s|$)|\{")
NEEDED = ("data.source", "data.target", "data.tsv", "data.mix", "model.kind")
"""Keys that the meaning of other lines depends on."""
_YAML_NAMES = (".yml", ".yaml", ".json")


@dataclass(frozen=True)
class ConfigTranslation:
    """A run file's lines, and the verdict on every option of the other file.

    `to_do`: decisions for the user. `remarks`: general notes. `settings`: the lines resolved; None, with the reason in
    `problem`, if openwork does not accept them.
    """

    toolkit: Toolkit
    file: str
    lines: list[DraftLine]
    findings: list[OptionVerdict]
    to_do: list[str]
    remarks: list[str]
    settings: RunSettings | None
    problem: str = ""


def translate_configuration(
    path: Path, toolkit: str | None, environment: Mapping[str, str] = os.environ
) -> ConfigTranslation:
    """Read a configuration or a script with command lines, recognise its toolkit, and translate it."""
    named = toolkit_named(toolkit) if toolkit is not None else None
    written = _read(path)
    remarks: list[str] = []
    found, options = _options(path, written, named, environment, remarks)
    if not options:
        raise DataError(
            f"{path}: it has no option of {found.title}",
            hint=f"{found.title} is recognised by {found.signs}",
            code="D084",
        )
    draft = Draft(found.title, options, found.defaults)
    found.apply(draft)
    for name in draft.names():
        if name.startswith(f"{ENVIRONMENT} "):
            draft.missing(name, "a variable of the command: set it for openwork train as well, if it is needed there")
        elif name.startswith(f"{LAUNCHER} "):
            draft.missing(name, "an option of what starts the program; openwork trains in one process on one device")
    if found.config and any(option.file != path.name for option in options):
        draft.same(found.config, "the options of that file are translated as well")
    elif found.config:
        draft.missing(found.config, "that file is not there, or holds nothing: give it to openwork config from itself")
    settings, problem = _settle(draft)
    return ConfigTranslation(
        toolkit=found,
        file=str(path),
        lines=draft.lines(),
        findings=draft.findings(),
        to_do=draft.to_do,
        remarks=[*remarks, *draft.remarks],
        settings=settings,
        problem=problem,
    )


def _read(path: Path) -> str:
    lines = list(itertools.islice(read_lines(path), MOST_LINES + 1))
    is_long = len(lines) > MOST_LINES
    if is_long or not any(line.strip() for line in lines):
        raise DataError(
            f"{path}: more than {MOST_LINES:,} lines" if is_long else f"{path}: the file is empty",
            why="a configuration has a few lines to some hundred",
            hint="give the file with the options or the command line",
            code="D085" if is_long else "D086",
        )
    return "\n".join(lines) + "\n"


def _options(
    path: Path, written: str, named: Toolkit | None, environment: Mapping[str, str], remarks: list[str]
) -> tuple[Toolkit, list[ExternalOption]]:
    """The toolkit and its options: from the commands of a script, else from YAML, else from a bare command line."""
    if path.suffix.lower() in _YAML_NAMES:
        return _from_yaml(path.name, written, named)
    script = read_script(written, environment)
    candidates = [named] if named else list(TOOLKITS.values())
    for toolkit in candidates:
        if find_programs(script, toolkit):
            return toolkit, _from_commands(path, script, toolkit, remarks)
    shown = shown_options(script)
    lines = (line.strip() for line in written.splitlines())
    first = next((line for line in lines if line and not line.startswith(("#", "---", "%"))), "")
    if not shown and (named or _YAML_START.match(first)):
        return _from_yaml(path.name, written, named)
    toolkit = named or recognise(shown, str(path))
    return toolkit, _from_commands(path, script, toolkit, remarks)


def _from_yaml(file: str, written: str, named: Toolkit | None) -> tuple[Toolkit, list[ExternalOption]]:
    options = read_yaml(written, file)
    toolkit = named or recognise([option.shown for option in options], file)
    return toolkit, [replace(option, name=toolkit.option_name(option.shown)) for option in options]


def _from_commands(path: Path, script: Script, toolkit: Toolkit, remarks: list[str]) -> list[ExternalOption]:
    options = read_options(script, toolkit, path.name, remarks)
    remarks.extend(script.notes)
    return [*_from_config(path, options, toolkit, remarks), *options]


def _from_config(
    path: Path, options: list[ExternalOption], toolkit: Toolkit, remarks: list[str]
) -> list[ExternalOption]:
    """The options of the file that a command line names; those of the command line itself override them."""
    for option in options:
        if not toolkit.config or option.name != toolkit.config:
            continue
        try:
            named = option.shown if option.value == "" else text(option.value)
            places = [place for place in (path.parent / named, Path(named)) if place.is_file()]
        except (ValueError, OSError):
            places = []
        if places:
            return _from_yaml(places[0].name, _read(places[0]), toolkit)[1]
        remarks.append(
            msg(f"line {option.line}: the configuration {option.text} is not there, so its options are not in this")
        )
    return []


def _settle(draft: Draft) -> tuple[RunSettings | None, str]:
    """The settings of the draft, after removing the lines that openwork does not accept, each with the reason."""
    while True:
        try:
            return _resolve(draft.lines()), ""
        except ConfigError as error:
            rejected = _rejected(draft.lines(), error.what)
            if rejected is None:
                return None, Joined(error.what, *((" ", error.why) if error.why else ()))
            draft.drop(rejected, msg(f"left out, because openwork says: {error.what}"))


def _rejected(lines: list[DraftLine], message: str) -> str | None:
    """The line to remove: one that the message names and that is wrong by itself, else one whose removal helps."""
    named = [line for line in lines if line.key.rpartition(".")[2] in message]
    others = [line for line in lines if line not in named]
    needed = [line for line in lines if line.key in NEEDED]
    wrong = (line.key for line in named if line not in needed and not _is_allowed([*needed, line]))
    helpful = (line.key for line in [*named, *others] if _is_allowed([other for other in lines if other is not line]))
    wrong_too = (line.key for line in others if line not in needed and not _is_allowed([*needed, line]))
    return next(itertools.chain(wrong, helpful, wrong_too), None)


def _is_allowed(lines: list[DraftLine]) -> bool:
    try:
        _resolve(lines)
    except ConfigError:
        return False
    return True


def _resolve(lines: list[DraftLine]) -> RunSettings:
    mapping: dict[str, Any] = {}
    for line in lines:
        section, _, key = line.key.partition(".")
        mapping.setdefault(section, {})[key] = line.value
    return resolve_run(Layer(mapping))
