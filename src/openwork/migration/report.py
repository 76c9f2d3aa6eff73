"""The report on a translated configuration, as lines and as values for JSON."""

from collections.abc import Iterable
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.base.toml import write_value
from openwork.migration.draft import OptionVerdict, Verdict
from openwork.migration.options import show
from openwork.migration.run_text import run_text
from openwork.migration.translation import ConfigTranslation

TITLES = {
    Verdict.MAPPED: "mapped",
    Verdict.SAME: msg("the same as openwork's default"),
    Verdict.ATTENTION: msg("needs attention: the meaning differs"),
    Verdict.MISSING: msg("no counterpart"),
}


def report_lines(translation: ConfigTranslation) -> list[str]:
    """The four lists of options, the toolkit's defaults, and what is left to decide."""
    lines = [msg(f"{translation.file}: {translation.toolkit.title}, {len(translation.findings)} options")]
    for verdict, title in TITLES.items():
        found = [finding for finding in translation.findings if finding.verdict is verdict]
        lines += _block(Joined(title, f" ({len(found)})"), map(_finding, found))
    implied = [line for line in translation.lines if line.implied]
    lines += _block(
        msg(f"{translation.toolkit.title}'s own defaults, which are not openwork's ({len(implied)})"),
        [Joined(AsIs(f"{one.key} = {show(write_value(one.value))}"), " (", one.source, ")") for one in implied],
    )
    lines += _block("remarks", translation.remarks)
    lines += _block(msg("to decide"), translation.to_do)
    if translation.problem:
        lines += _block(msg("the run file is not accepted as it stands"), [translation.problem])
    return lines


def _block(title: str, entries: Iterable[str]) -> list[str]:
    found = [Joined("  ", entry) for entry in entries]
    return ["", title, *found] if found else []


def _finding(finding: OptionVerdict) -> str:
    settings = AsIs(", ".join(f"{key} = {show(write_value(value))}" for key, value in finding.settings.items()))
    between = ": " if settings and finding.note else ""
    more = (" -> ", settings, between, finding.note) if settings or finding.note else ()
    return Joined(AsIs(f"{finding.option.text} ({finding.option.place})"), *more)


def report_values(translation: ConfigTranslation) -> dict[str, Any]:
    return {
        "toolkit": translation.toolkit.name,
        "file": translation.file,
        **{
            str(verdict): [_values(finding) for finding in translation.findings if finding.verdict is verdict]
            for verdict in Verdict
        },
        "implied": [
            {"key": line.key, "value": line.value, "source": line.source} for line in translation.lines if line.implied
        ],
        "remarks": translation.remarks,
        "to_decide": translation.to_do,
        "accepted": translation.settings is not None,
        "problem": translation.problem,
        "run_file": run_text(translation),
    }


def _values(finding: OptionVerdict) -> dict[str, Any]:
    option = finding.option
    return {
        "option": option.shown,
        "value": option.value,
        "file": option.file,
        "line": option.line,
        "settings": dict(finding.settings),
        "note": finding.note,
    }
