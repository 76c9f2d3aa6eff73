"""Writes a translated configuration as a run file: each line with a comment on its origin."""

import textwrap
from typing import Any

from openwork.base.toml import write_value
from openwork.migration.draft import DraftLine, Verdict
from openwork.migration.translation import ConfigTranslation

WIDTH = 118


def run_text(translation: ConfigTranslation) -> str:
    """The run file as TOML text; options without a counterpart are listed at its end."""
    parts = _comment(
        f"Translated from {translation.toolkit.title}: {translation.file}. What is not here is openwork's default."
    )
    for task in translation.to_do:
        parts += _comment(f"To decide: {task}")
    if translation.problem:
        parts += _comment(f"openwork does not accept this as it stands: {translation.problem}")
    for name in dict.fromkeys(line.key.partition(".")[0] for line in translation.lines):
        section = [line for line in translation.lines if line.key.startswith(f"{name}.")]
        parts += ["", f"[{name}]", *(part for line in section for part in _line(line))]
        parts += [part for line in section for part in _tables(line)]
    missing = [finding for finding in translation.findings if finding.verdict is Verdict.MISSING]
    if missing:
        parts += ["", *_comment("Without a counterpart in openwork:")]
        for finding in missing:
            parts += _comment(f"- {finding.option.text} ({finding.option.place}): {finding.note}")
    return "\n".join(parts) + "\n"


def _line(line: DraftLine) -> list[str]:
    """`key = value` with its source; a note stands above it."""
    if _is_list_of_tables(line.value):
        return []
    written = f"{line.key.partition('.')[2]} = {write_value(line.value)}"
    notes = _comment(f"Mind: {line.note}") if line.note else []
    source = _plain(line.source)
    if len(written) + len(source) + 4 <= WIDTH:
        return [*notes, f"{written}  # {source}"]
    return [*notes, *_comment(source), written]


def _tables(line: DraftLine) -> list[str]:
    """A list of tables, such as the corpora of a mix, after the plain keys of its section."""
    if not _is_list_of_tables(line.value):
        return []
    parts = _comment(line.source)
    for table in line.value:
        parts += ["", f"[[{line.key}]]", *(f"{key} = {write_value(value)}" for key, value in table.items())]
    return ["", *parts]


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _comment(text: str) -> list[str]:
    return textwrap.wrap(_plain(text), WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


def _plain(text: str) -> str:
    """Without control characters, which TOML forbids even in comments."""
    return "".join(character if character.isprintable() else " " for character in text)
