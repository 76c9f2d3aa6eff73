"""What was measured, as tables for a terminal and as the summary in the results file."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench import comparison
from bench.comparison import Results
from bench.measurement import middle
from bench.options import Options

Row = Sequence[str]
GAP = "  "


def summary_of(results: Results, options: Options) -> dict[str, Any]:
    """Medians and spreads over the rounds, shares of the limits, and ratios with what is wanted of them."""
    figures = {name: figures_of(rounds) for name, rounds in results.items()}
    for name, values in figures.items():
        kind, *parts = name.split("/")
        if kind == "training" and values:
            peer, precision, batches = parts
            share = middle(comparison.shares(results, options, peer, precision, batches))
            values |= {"share of the matrix limit": share.to_json()} if share else {}
    return {"figures": figures, "ratios": [claim.to_json() for claim in comparison.wanted(results, options)]}


def figures_of(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Every number of a measurement over its rounds; numbers by setting one by one."""
    gathered: dict[str, list[float]] = {}
    for result in rounds:
        for name, value in _numbers(result):
            gathered.setdefault(name, []).append(value)
    return {name: known.to_json() for name, values in gathered.items() if (known := middle(values))}


def _numbers(result: dict[str, Any]) -> Iterable[tuple[str, float]]:
    for name, value in result.items():
        if isinstance(value, int | float):
            yield name, float(value)
        elif name == "sentences_per_second":
            yield from ((f"{name}, {setting}", speed) for setting, speed in value.items())


def tables(results: Results, summary: dict[str, Any]) -> str:
    """Everything for a terminal: what was measured, then the ratios; empty tables are left out."""
    figures = summary["figures"]
    parts = [
        table(("limits", "GFLOP/s", "spread"), _rows(figures, "ceilings", "gflops")),
        table(("training", "tokens/s", "spread", "of its limit", "MB"), _training_rows(figures)),
        table(("translating", "sentences/s", "spread", "BLEU", "MB"), _translating_rows(figures)),
        table(("one sentence", "p50 ms", "spread", "p95 ms"), _single_rows(figures)),
        table(("ours / theirs", "ratio", "spread", "wanted", ""), _ratio_rows(summary["ratios"])),
        table(("not measured", "why"), _failures(results)),
    ]
    return "\n\n".join(part for part in parts if part)


def table(head: Row, rows: Sequence[Row]) -> str:
    """Columns as wide as they need; the first stands left, the others right, text of the last column left."""
    if not rows:
        return ""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    last = len(head) - 1

    def line(row: Row) -> str:
        cells = (
            cell.ljust(width) if column == 0 or (column == last and not cell[:1].isdigit()) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return GAP.join(cells).rstrip()

    return "\n".join([line(head), "-" * (sum(widths) + len(GAP) * last), *map(line, rows)])


def number(value: float) -> str:
    """Three digits that tell."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(middle: dict[str, float]) -> str:
    """Lowest and highest of the rounds; nothing where there was one."""
    return f"{number(middle['low'])} to {number(middle['high'])}" if middle["rounds"] > 1 else ""


def _rows(figures: dict[str, Any], kind: str, figure: str) -> list[Row]:
    return [
        (_title(name), number(values[figure]["median"]), spread(values[figure]))
        for name, values in figures.items()
        if name.startswith(f"{kind}/") and figure in values
    ]


def _title(name: str) -> str:
    return ", ".join(name.split("/")[1:])


def _training_rows(figures: dict[str, Any]) -> list[Row]:
    rows = []
    for name, values in figures.items():
        if name.startswith("training/") and "tokens_per_second" in values:
            share = values.get("share of the matrix limit")
            speed = values["tokens_per_second"]
            percent = f"{share['median']:.0%}" if share else ""
            memory = number(values["peak_megabytes"]["median"])
            rows.append((_title(name), number(speed["median"]), spread(speed), percent, memory))
    return rows


def _translating_rows(figures: dict[str, Any]) -> list[Row]:
    """Each measurement with its fastest setting; the whole sweep is in the file."""
    rows = []
    for name, values in figures.items():
        found = {key.partition(", ")[2]: value for key, value in values.items() if key.startswith("sentences_per_")}
        if name.startswith("translating/") and found:
            setting = max(found, key=lambda one: found[one]["median"])
            speed, memory = found[setting], number(values["peak_megabytes"]["median"])
            title = f"{_title(name)}, {setting}"
            rows.append((title, number(speed["median"]), spread(speed), f"{values['bleu']['median']:.2f}", memory))
    return rows


def _single_rows(figures: dict[str, Any]) -> list[Row]:
    return [
        (_title(name), number(values["p50"]["median"]), spread(values["p50"]), number(values["p95"]["median"]))
        for name, values in figures.items()
        if name.startswith("single/") and "p50" in values
    ]


def _ratio_rows(claims: Sequence[dict[str, Any]]) -> list[Row]:
    """Those of which both sides are measured."""
    return [
        (
            claim["claim"],
            number(claim["median"]),
            spread(claim),
            f"{claim['direction']} {claim['target']:g}",
            "met" if claim["met"] else "missed",
        )
        for claim in claims
        if "median" in claim
    ]


def _failures(results: Results) -> list[Row]:
    return [(name, rounds[-1]["failure"]) for name, rounds in results.items() if rounds and rounds[-1].get("failure")]
