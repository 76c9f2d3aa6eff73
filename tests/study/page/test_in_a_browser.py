"""The page in a real browser without a network: keys, editing, undo, languages, themes, and a phone."""

from pathlib import Path
from typing import Any

import pytest

from browsing import Watched, in_a_browser
from openwork.study.documents import find_example
from openwork.study.page import step_page

pytestmark = in_a_browser
STEPS = 69
READY = ".result .grid"
VALUES = """() => [...document.querySelectorAll('.result td[role=gridcell]')].map((cell) => cell.textContent)"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("page") / "step.html"
    file.write_text(step_page(find_example("002-8")(), "en"), encoding="utf-8")
    return file.as_uri()


def test_all_steps_by_keys_alone_equal_python_and_weights_add_up(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/step?l=en", READY)
    page, seen = watched.page, set()
    for _ in range(STEPS):
        name = page.get_attribute(".result", "data-step")
        seen.add(name)
        assert float(page.get_attribute(".check", "data-difference")) <= 1e-9, name
        if "weights" in name or name == "probabilities":
            rows = page.evaluate(
                """() => [...document.querySelectorAll('.result tbody tr')].map((row) =>
                   [...row.querySelectorAll('td')].map((cell) => Number(cell.textContent) || 0)
                   .reduce((sum, one) => sum + one, 0))"""
            )
            assert rows == pytest.approx([1.0] * len(rows), abs=1e-3), name
        page.keyboard.press("]")
    assert len(seen) == STEPS and page.is_disabled("[data-tool=next]")
    watched.end()


def test_arrows_move_within_a_matrix_that_is_one_tab_stop(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/step?s=encoder.scores&l=en", READY)
    page = watched.page
    assert page.locator(".result td[tabindex='0']").count() == 1
    page.focus(".result td[tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.cell") == "1,1"
    assert "c=2,2" in page.url
    watched.end()


def test_an_edit_changes_what_depends_on_it_and_undo_takes_it_back(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/step?s=encoder.query&l=en", READY)
    page = watched.page
    before = page.evaluate(VALUES)
    page.click(".operands .grid.given td[data-cell='0,0']")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.25")
    page.keyboard.press("Enter")
    page.wait_for_selector(".result td.changed")
    assert page.evaluate(VALUES) != before and "equals Python" in page.inner_text(".check")
    page.evaluate("location.hash = '#/step?s=encoder.key&l=en'")
    page.wait_for_selector("[data-step='encoder.key']")
    assert page.locator(".result td.changed").count() == 0
    page.evaluate("location.hash = '#/step?s=probabilities&l=en'")
    page.wait_for_selector(".result[data-step=probabilities] td.changed")
    page.click("[data-tool=undo]")
    page.evaluate("location.hash = '#/step?s=encoder.query&l=en'")
    page.wait_for_selector(".result[data-step='encoder.query']")
    assert page.evaluate(VALUES) == before and page.locator("td.changed").count() == 0
    watched.end()


def test_masked_cells_say_so(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/step?s=decoder.weights&l=en", READY)
    found = watched.page.locator(".result td.masked").all_inner_texts()
    assert len(found) == 6 and set(found) == {"masked"}
    watched.end()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_needs_no_sideways_scrolling(browser: Any, address: str, language: str) -> None:
    watched = Watched(browser, f"{address}#/step?l={language}", READY, viewport={"width": 390, "height": 844})
    for _ in range(STEPS):
        assert not watched.is_wider_than_a_phone, watched.page.url
        watched.page.keyboard.press("]")
    assert watched.page.get_attribute("html", "lang") == {"en": "en", "zh": "zh-CN"}[language]
    watched.end()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, address: str, language: str, scheme: str) -> None:
    watched = Watched(browser, address, READY, color_scheme=scheme)
    for step in ("source.input", "encoder.products", "decoder.weights", "probabilities"):
        watched.page.evaluate(f"location.hash = '#/step?s={step}&l={language}'")
        watched.page.wait_for_selector(f".result[data-step='{step}']")
        assert watched.axe_findings() == ""
    watched.end()
