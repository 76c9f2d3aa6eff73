"""Tables and plots of what `python -m growth` has measured.

    PYTHONPATH=benchmarks python -m growth.report results/growth.json ../docs/growth.md

Plots are written beside the page, into a folder of its name.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from growth.prediction import WORK, fit, predicted_memory, predicted_seconds
from growth.shapes import BASE, TRAINING, TRANSLATING, Shape
from openwork.inspection.plots import Chart, Series

AXES = {
    "length": ("tokens of a sentence", lambda shape: shape.length),
    "batch": ("sentences of a batch", lambda shape: shape.sentences),
    "width": ("width", lambda shape: shape.width),
    "vocabulary": ("pieces of the vocabulary", lambda shape: shape.vocabulary),
}
Row = Sequence[str]


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    """Markdown."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


class Measured:
    """The points of the results."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.machine = results["machine"]
        self.corpus = results.get("corpus", [])
        self.note = results.get("note", "")
        self.points = list(results["points"].values())

    def of(self, part: str, way: str, shapes: Sequence[Shape]) -> list[tuple[Shape, dict[str, Any]]]:
        """Those that were measured, in the order of the shapes."""
        known = {
            replace(BASE, **point["shape"]): point
            for point in self.points
            if point["part"] == part and point["way"] == way
        }
        return [(shape, known[shape]) for shape in shapes if shape in known]


def training_section(measured: Measured, precision: str, folder: Path) -> Iterator[str]:
    """Each size: predicted and measured time and memory."""
    found = [pair for shapes in TRAINING.values() for pair in measured.of("training", precision, shapes)]
    found = list({shape: (shape, point) for shape, point in found}.values())
    known = found[::2]
    rates = fit([shape for shape, _ in known], [point["fastest"] for _, point in known])
    yield f"## An update in {precision}"
    yield ""
    yield from _rates_lines(rates)
    worst = {"seconds": 0.0, "bytes": 0.0}
    for size, shapes in TRAINING.items():
        points = measured.of("training", precision, shapes)
        if len(points) < 2:
            continue
        rows = []
        for shape, point in points:
            seconds, memory = predicted_seconds(shape, rates), predicted_memory(shape, precision).resident
            off = {"seconds": seconds / point["fastest"] - 1, "bytes": memory / point["peak_bytes"] - 1}
            if (shape, point) not in known:
                worst["seconds"] = max(worst["seconds"], abs(off["seconds"]))
            worst["bytes"] = max(worst["bytes"], abs(off["bytes"]))
            part = "" if (shape, point) not in known else " (rates)"
            rows.append(
                [
                    f"{AXES[size][1](shape):,}", f"{point['fastest']:.3f}", f"{seconds:.3f}",
                    f"{off['seconds']:+.0%}{part}",
                    f"{point['peak_bytes'] / 1e6:,.0f}", f"{memory / 1e6:,.0f}", f"{off['bytes']:+.0%}",
                ]
            )  # fmt: skip
        head = [AXES[size][0], "seconds", "predicted", "off by", "MB", "predicted", "off by"]
        yield from ["", *table(head, rows), ""]
        yield from _plots(folder, f"training-{precision}-{size}", size, points, rates, precision)
    yield f"Furthest off among the points that gave no rates: {worst['seconds']:.0%} in time; of all, in memory:"
    yield f"{worst['bytes']:.0%}."
    yield ""


def _rates_lines(rates: np.ndarray) -> Iterator[str]:
    named = dict(zip(WORK, rates, strict=True))
    parts = [
        f"{1 / rate:.3g} {name} a second" if name != "a constant" else f"{rate:.3g} seconds whatever the size"
        for name, rate in named.items()
        if rate > 0
    ]
    yield f"Rates found from every second point: {'; '.join(parts)}."


def _plots(
    folder: Path, name: str, size: str, points: list[tuple[Shape, dict[str, Any]]], rates: np.ndarray, precision: str
) -> Iterator[str]:
    label, place = AXES[size]
    pictures = {
        "time": (
            "seconds an update",
            [(place(shape), point["fastest"]) for shape, point in points],
            [(place(shape), predicted_seconds(shape, rates)) for shape, _ in points],
        ),
        "memory": (
            "MB at the peak",
            [(place(shape), point["peak_bytes"] / 1e6) for shape, point in points],
            [(place(shape), predicted_memory(shape, precision).resident / 1e6) for shape, _ in points],
        ),
    }
    for kind, (upward, found, said) in pictures.items():
        series = (Series("measured", found), Series("predicted", said))
        title = f"An update in {precision}: {kind} against {label}"
        picture = Chart(title, label, upward, series, True, True).drawn(str)
        (folder / f"{name}-{kind}.svg").write_text(picture + "\n", encoding="utf-8")
        yield f"![{title}]({folder.name}/{name}-{kind}.svg)"
    yield ""


def translating_section(measured: Measured, folder: Path) -> Iterator[str]:
    """Writing as many target tokens as the source has."""
    yield "## Translating, greedy, with a cache, float32"
    for size, shapes in TRANSLATING.items():
        points = measured.of("translating", "cached", shapes)
        if len(points) < 2:
            continue
        label, place = AXES[size]
        rows = [
            [
                f"{place(shape):,}", f"{point['cached']['seconds']:.3f}",
                f"{1000 * point['cached']['seconds'] / shape.length:.2f}",
                f"{shape.tokens / point['cached']['seconds']:,.0f}",
                f"{point['cached']['peak_bytes'] / 1e6:,.0f}",
            ]
            for shape, point in points
        ]  # fmt: skip
        yield from ["", *table([label, "seconds", "ms a step", "tokens/s", "MB besides the model"], rows), ""]
        series = (Series("cached", [(place(shape), point["cached"]["seconds"]) for shape, point in points]),)
        title = f"Translating: time against {label}"
        picture = Chart(title, label, "seconds", series, True, True).drawn(str)
        (folder / f"translating-{size}.svg").write_text(picture + "\n", encoding="utf-8")
        yield f"![{title}]({folder.name}/translating-{size}.svg)"
    yield ""


def caching_section(measured: Measured, folder: Path) -> Iterator[str]:
    """The decoder given what is new, or the whole beginning, at each step."""
    points = [point for point in measured.points if point["part"] == "caching"]
    if not points:
        return
    yield from ["## With and without a cache", "", "Milliseconds to write so many target tokens.", ""]
    rows, curves = [], []
    for sentences in sorted({point["shape"]["sentences"] for point in points}):
        own = sorted((p for p in points if p["shape"]["sentences"] == sentences), key=lambda p: p["shape"]["length"])
        for way in ("cached", "uncached"):
            drawn = [(point["shape"]["length"], 1000 * point[way]["fastest"]) for point in own]
            curves.append(Series(f"{way}, {sentences} sentence{'s' * (sentences > 1)}", drawn))
        for point in own:
            cached, uncached = (1000 * point[way]["fastest"] for way in ("cached", "uncached"))
            rows.append(
                [
                    f"{sentences}",
                    f"{point['shape']['length']}",
                    f"{cached:.1f}",
                    f"{uncached:.1f}",
                    f"{uncached / cached:.2f}",
                ]
            )
        slower = [
            point["shape"]["length"]
            for point in own
            if point["cached"]["fastest"] > 0.98 * point["uncached"]["fastest"]
        ]
        crossover = max(slower, default=0)
        words = f"the cache pays beyond {crossover} tokens" if crossover else "the cache pays from the first token"
        rows.append([f"{sentences}", words, "", "", ""])
    yield from table(["sentences", "target tokens", "cached, ms", "uncached, ms", "uncached / cached"], rows)
    title = "Decoding with and without a cache"
    picture = Chart(title, "target tokens", "milliseconds", tuple(curves), True, True).drawn(str)
    (folder / "caching.svg").write_text(picture + "\n", encoding="utf-8")
    yield from ["", f"![{title}]({folder.name}/caching.svg)", ""]


CORPUS_NOTE = (
    "Resident while planning counts pages of the mapped store, which the system takes back when it wants them; the "
    "plan itself holds a window of a million pairs at most (`data/batching.py`)."
)


def corpus_section(measured: Measured) -> Iterator[str]:
    """What the size of the corpus costs."""
    if not measured.corpus:
        return
    rows = [
        [
            f"{found['pairs']:,}", "text" if found["from_text"] else "ids", f"{found['indexing_seconds']:.1f}",
            f"{found['store_bytes'] / 1e6:,.0f}", f"{found['indexing_peak_bytes'] / 1e6:,.0f}",
            f"{found['planning_seconds']:.2f}", f"{found['planning_peak_bytes'] / 1e6:,.0f}",
            f"{found['first_update_seconds']:.1f}", f"{1000 * found['seconds_waiting_an_update']:.1f}",
            found.get("commit", ""),
        ]
        for found in measured.corpus
    ]  # fmt: skip
    head = [
        "pairs", "indexed from", "indexing, s", "store, MB", "resident while indexing, MB", "planning, s",
        "resident while planning, MB", "to the end of the first update, s", "waiting for a batch, ms",
        "commit, where another",
    ]  # fmt: skip
    yield from ["## Size of the corpus", "", *table(head, rows), "", CORPUS_NOTE, ""]


def main() -> None:
    results, page = Path(sys.argv[1]), Path(sys.argv[2])
    measured = Measured(json.loads(results.read_text(encoding="utf-8")))
    folder = page.parent / page.stem
    folder.mkdir(exist_ok=True)
    machine = measured.machine
    text = [
        "# How time and memory grow",
        "",
        "Made by `python -m growth.report` from `benchmarks/results/growth.json`; see `benchmarks/growth/`. The shape "
        f"is {BASE.layers} + {BASE.layers} layers of width {BASE.width}, feed-forward four times as wide, pre-norm, "
        f"dropout 0.2, {BASE.vocabulary:,} pieces, {BASE.sentences} sentences of {BASE.length} tokens on each side; "
        "one of these sizes varies in each table. Memory is the peak of resident bytes above what the libraries take.",
        "",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, torch "
        f"{machine['torch']}, commit {machine['commit']}, {machine['date']}.",
        "",
        *([measured.note, ""] if measured.note else []),
        *training_section(measured, "bfloat16", folder),
        *training_section(measured, "float32", folder),
        *translating_section(measured, folder),
        *caching_section(measured, folder),
        *corpus_section(measured),
    ]
    page.write_text("\n".join(text).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
