"""The figures of README and docs are drawn from results, or have their reason in figures.toml."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.figures import REPOSITORY, Figure, calculated, figures, values

REASONS: dict[str, list[dict[str, Any]]] = tomllib.loads(Path(__file__).with_name("figures.toml").read_text("utf-8"))
# Pages that a program writes, and the test that writes them again.
WRITTEN = {
    "docs/errors.md": "tests/architecture/test_errors.py",
    "docs/files.md": "tests/architecture/test_document.py",
    "docs/growth.md": "tests/benchmarks/test_pages_and_pictures.py",
    "docs/mutations.md": "tests/truth/test_mutations.py",
    "docs/paper.md": "tests/study/paper/test_paper.py",
    "docs/scale.md": "tests/benchmarks/test_scale.py",
}
ALL = ["README.md", *sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md"))]
PAGES = [page for page in ALL if page not in WRITTEN and not page.endswith(".zh-CN.md")]
TRANSLATED = [page for page in PAGES if (REPOSITORY / page).with_suffix(".zh-CN.md").exists()]


def text_of(page: str) -> str:
    text = (REPOSITORY / page).read_text("utf-8")
    if page == "docs/claims.md":  # whose rows begin with the number of a section
        text = re.sub(r"^\| [\w, .]+ \|", "| |", text, flags=re.MULTILINE)
    return text


def entries_for(page: str, figure: Figure) -> list[dict[str, Any]]:
    return [entry for entry in REASONS.get(page, []) if entry.get("at", "") in figure.line]


def complaint(page: str, figure: Figure) -> str:
    """Why a figure is not accepted; empty if it is."""
    names = next((names for names in figure.names if names), frozenset[str]())
    for entry in entries_for(page, figure):
        names = entry.get("results", names)
        reason = entry.get(figure.printed) or entry.get("all")
        if reason is not None:
            return disagreement(figure, reason)
    found = any(figure.fits(value) for name in names for value in values(name))
    return "" if found else f"{figure.printed} is in none of {sorted(names) or 'the results: none is named here'}"


def disagreement(figure: Figure, reason: str) -> str:
    """A reason is a sentence, or "= " and a formula, or "≈ " and a formula for a figure that is said to be about so."""
    sign, _, formula = reason.partition(" ")
    if sign not in ("=", "≈"):
        return ""
    value = calculated(formula)
    agrees = figure.fits(value) if sign == "=" else figure.is_near(value)
    return "" if agrees else f"{figure.printed} is not {value:.6g}, {formula}"


# Of this page models are built to count their weights.
BUILT = "docs/family.md"


@pytest.mark.parametrize("page", [pytest.param(p, marks=pytest.mark.slow) if p == BUILT else p for p in PAGES])
def test_each_figure_is_that_of_a_result_or_has_a_reason(page: str) -> None:
    found = [(figure, complaint(page, figure)) for figure in figures(text_of(page))]
    wrong = [f"{page}:{figure.number}: {words}" for figure, words in found if words]
    assert wrong == [], "name the figure's result in its row or paragraph, or give its reason in figures.toml"


@pytest.mark.parametrize("page", TRANSLATED)
def test_both_languages_show_the_same_figures(page: str) -> None:
    translation = (REPOSITORY / page).with_suffix(".zh-CN.md").read_text("utf-8")
    ours, theirs = (Counter(figure.value for figure in figures(text)) for text in (text_of(page), translation))
    assert (ours - theirs, theirs - ours) == (Counter(), Counter())


def test_every_reason_is_for_a_figure() -> None:
    assert set(REASONS) <= set(PAGES)
    for page, entries in REASONS.items():
        shown = list(figures(text_of(page)))
        for entry in entries:
            here = {figure.printed for figure in shown if entry.get("at", "") in figure.line}
            assert here, f"{page}: no line with figures has {entry.get('at')!r}"
            assert set(entry) - {"at", "results", "all"} <= here, f"{page}: {entry.get('at')}"
            assert all(values(name) for name in entry.get("results", ()))


def test_every_page_that_a_program_writes_has_a_test() -> None:
    assert set(WRITTEN) <= set(ALL)
    assert [
        test for page, test in WRITTEN.items() if Path(page).name not in (REPOSITORY / test).read_text("utf-8")
    ] == []


PAGE = """
# One (`results/soak.json`)

It took 3,596.7 seconds, 1895 updates in 2017, version 1.2.3, section 4.5, 12 and `0.5`, -1.2 %, 2e-4, 1.5 million.

    0.75

| `recipes/copy.toml` | 63.98 s |
"""


def test_what_is_a_figure_and_what_it_is_drawn_from() -> None:
    shown = {figure.printed: figure for figure in figures(PAGE)}
    assert list(shown) == ["3,596.7", "1895", "-1.2 %", "2e-4", "1.5 million", "63.98"]
    assert [figure.names for figure in shown.values()][-1] == (frozenset({"copy"}),) * 2 + (
        frozenset({"soak", "copy"}),
    )
    assert shown["1.5 million"].value == 1.5e6 and shown["1.5 million"].half == pytest.approx(5e4)
    assert complaint("", shown["3,596.7"]) == "" == complaint("", shown["63.98"])
    assert complaint("", shown["2e-4"]) == "2e-4 is in none of ['copy', 'soak']"


@pytest.mark.parametrize(
    ("printed", "value", "fits"),
    [("39.5", 39.4673, True), ("39.5", 39.44, False), ("0.66", 0.6609, True), ("66.1 %", 0.6609, True),
     ("66.2 %", 0.6609, False), ("661", 6.609, False), ("1,162", 1162.4, True), ("1.0e-3", 0.00104, True)],
)  # fmt: skip
def test_a_figure_is_the_measured_value_rounded(printed: str, value: float, fits: bool) -> None:
    (figure,) = figures(printed)
    assert figure.fits(value) == fits


def test_formulas_are_arithmetic_on_results() -> None:
    assert calculated("[soak: parts > training > seconds] / 10") == pytest.approx(359.67)
    assert calculated("2 * mean(1, 2) - deviation(1, 3) ** 2") == 2
    assert calculated("-[bench-epyc: summary > ratios > training bf16 / its matrix limit > target]") == -0.6
    with pytest.raises(ValueError, match="no arithmetic"):
        calculated("'a'")
    (figure,) = figures("0.5")
    assert disagreement(figure, "= 0.56") == "0.5 is not 0.56, 0.56" and disagreement(figure, "≈ 0.52") == ""
    assert disagreement(figure, "≈ 0.54") and disagreement(figure, "a setting") == ""


@pytest.mark.slow
def test_most_wrong_figures_are_noticed() -> None:
    """Each figure that has no reason in words, up to five of its last digits away: how many are still accepted."""
    tried = accepted = 0
    for page in PAGES:
        for figure in figures(text_of(page)):
            reasons = [entry.get(figure.printed) or entry.get("all") for entry in entries_for(page, figure)]
            if any(reason and reason[0] not in "=≈" for reason in reasons):
                continue
            for away in (-5, -2, -1, 1, 2, 5):
                wrong = figure._replace(value=figure.value + 2 * away * figure.half)
                tried += 1
                accepted += not complaint(page, wrong)
    print(accepted, tried)
    assert accepted / tried < 0.1


@pytest.mark.slow
def test_the_sizes_for_one_budget_are_those_that_the_command_prints() -> None:
    rows = re.findall(
        r"^\| (\w+) \| ([\d,]+) \| ([\d.]+) million \| width (\d+)(?:, feed-forward (\d+))? \|$",
        text_of("docs/family.md"), re.MULTILINE,
    )  # fmt: skip
    command = ["info", "--compare", *(name for name, *_ in rows), "--budget", "7M"]
    printed = subprocess.run([sys.executable, "-m", "openwork", *command], capture_output=True, text=True, check=True)
    assert len(rows) == 5
    for name, weights, operations, width, inner in rows:
        said = re.search(rf"^{name}: (.*)\n(.*)$", printed.stdout, re.MULTILINE)
        assert said is not None
        assert said[1] == f"{weights} weights, {operations} million operations forward for a target token"
        assert f"width = {width}" in said[2] and (not inner or f"feedforward_width = {inner}" in said[2])
