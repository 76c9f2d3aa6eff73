"""The language of help and messages: `--lang zh` anywhere on the command line, OPENWORK_LANG, or the locale."""

import os
from collections.abc import Sequence
from typing import Any

import typer

from openwork.base.errors import UsageError
from openwork.base.messages import LANGUAGE_VARIABLE, LANGUAGES
from openwork.cli.terminal import translated

OPTION = "--lang"
_TITLES = ("OPTIONS_PANEL_TITLE", "COMMANDS_PANEL_TITLE", "ARGUMENTS_PANEL_TITLE", "ERRORS_PANEL_TITLE")


def take_language(arguments: Sequence[str]) -> list[str]:
    """The arguments without `--lang X`; the choice is set in the environment, for child processes too.

    It is read first, because help and errors of the command line depend on it.
    """
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return [*rest, argument, *waiting]
        name, equals, value = argument.partition("=")
        if name != OPTION:
            rest.append(argument)
            continue
        language = value if equals else next(waiting, "")
        if language not in LANGUAGES:
            raise UsageError(
                f"--lang {language}: not a language of the messages", hint="--lang en, or --lang zh", code="U015"
            )
        os.environ[LANGUAGE_VARIABLE] = language
    return rest


def translate_help(command: Any, above: Any) -> None:
    """Translates the help of a command, of its options and of its subcommands; `above`: the context of its group."""
    context = translate_part(command, above)
    for below in getattr(command, "commands", {}).values():
        translate_help(below, context)


def translate_part(command: Any, above: Any = None) -> Any:
    """Translates the help of a command and of its options, and returns its context."""
    context = typer.Context(command, parent=above, **command.context_settings)
    for part in (command, *command.get_params(context)):  # --help is made for a context, and then kept
        for name in ("help", "short_help"):
            if text := getattr(part, name, None):
                setattr(
                    part, name, "\n\n".join(_in_own_language(paragraph.strip()) for paragraph in text.split("\n\n"))
                )
    if panel := getattr(command, "rich_help_panel", None):
        command.rich_help_panel = translated(panel)
    return context


def _in_own_language(paragraph: str) -> str:
    """A translated paragraph of help; descriptions of settings have no capital and full stop in the catalogue."""
    if (whole := translated(paragraph)) != paragraph:
        return whole
    description = paragraph[:1].lower() + paragraph[1:].removesuffix(".")
    return f"{found}。" if (found := translated(description)) != description else paragraph


def translate_titles() -> None:
    """Translates the titles of the boxes in help."""
    from typer import rich_utils

    for name in _TITLES:
        setattr(rich_utils, name, translated(getattr(rich_utils, name)))
