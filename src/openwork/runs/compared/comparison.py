"""Runs beside each other as lines of a terminal, and as the page's screen Runs."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from openwork.base.messages import msg
from openwork.base.phrases import Padded, shown_width
from openwork.inspection.page import app_page
from openwork.runs.compared.history import RunHistory, Validated
from openwork.training.progress import duration

PER_HUNDRED = ("exact",)  # figures that are shares
LONGEST = 40  # characters of a setting's value in the terminal


def runs_content(runs: Sequence[RunHistory]) -> list[dict[str, Any]]:
    """The runs as plain JSON."""
    return [one.to_json() for one in runs]


def runs_page(runs: Sequence[RunHistory], language: str) -> str:
    """One HTML file that opens without a network."""
    return app_page(msg("Runs beside each other"), {"runs": runs_content(runs)}, language)


def differing(runs: Sequence[RunHistory]) -> dict[str, list[Any]]:
    """The settings whose values are not the same in all of these runs, by key: the value of each run, or None."""
    keys = dict.fromkeys(key for one in runs for key in one.settings)
    values = {key: [one.settings.get(key) for one in runs] for key in keys}
    return {key: row for key, row in values.items() if any(one != row[0] for one in row)}


def comparison_lines(runs: Sequence[RunHistory], translate: Callable[[str], str]) -> list[str]:
    """How far each run is and what it reached, and then the settings that differ."""
    head = ["", *map(translate, (msg("state"), msg("updates"), msg("time"), msg("figure"), msg("best"), msg("last")))]
    lines = _table([head, *(_row(one, translate) for one in runs)])
    if len(runs) < 2:
        return lines
    rows = [[key, *(_value(one) for one in row)] for key, row in differing(runs).items()]
    if not rows:
        return [*lines, "", translate("all settings are the same")]
    names = [one.name for one in runs]
    return [*lines, "", translate("settings that differ:"), *_table([["", *names], *rows])]


def _row(run: RunHistory, translate: Callable[[str], str]) -> list[str]:
    made = f"{run.made:,}" if run.wanted in (None, run.made) else f"{run.made:,} / {run.wanted:,}"
    state = translate("finished" if run.is_finished else _age(run))
    last = run.validations[-1] if run.validations else None
    best = _figure(run, run.best)
    if run.best is not None:
        best += translate(f" at {run.best.step:,}")
    seconds = run.seconds
    name = run.score_name if run.metric == "score" and run.score_name else run.metric
    return [run.name, state, made, "" if seconds is None else duration(seconds), name, best, _figure(run, last)]


def _age(run: RunHistory) -> str:
    if run.updated is None:
        return msg("not started")
    return msg(f"last line {duration(time.time() - run.updated)} ago")


def _figure(run: RunHistory, validated: Validated | None) -> str:
    value = None if validated is None else validated.figures[run.metric]
    if value is None:
        return "-"
    return f"{value:.4f}" if run.metric == "loss" else f"{100 * value if run.metric in PER_HUNDRED else value:.2f}"


def _value(value: Any) -> str:
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(shown_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(Padded, row, widths)).rstrip() for row in rows]
