"""The page in a real browser without a network: keys, editing, undo, languages, themes, and a phone."""

from collections.abc import Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from openwork.study.documents import find_example
from openwork.study.page import step_page

playwright: Any = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
CHROMIUM = which("chromium")
pytestmark = [
    pytest.mark.slow,  # a browser is started
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's package chromium"),
]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
STEPS = 69
VALUES = """() => [...document.querySelectorAll('.result td[role=gridcell]')].map((cell) => cell.textContent)"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("page") / "step.html"
    file.write_text(step_page(find_example("002-8")(), "en"), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


class Watched:
    """A page that is offline, with its errors and requests."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(offline=True, **options)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector(".result .grid")

    def end(self) -> None:
        assert self.errors == []
        assert all(url.startswith(("file:", "data:")) for url in self.requests)
        self.context.close()


def test_all_steps_by_keys_alone_equal_python_and_weights_add_up(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/step?l=en")
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
    watched = Watched(browser, f"{address}#/step?s=encoder.scores&l=en")
    page = watched.page
    assert page.locator(".result td[tabindex='0']").count() == 1
    page.focus(".result td[tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.cell") == "1,1"
    assert "c=2,2" in page.url
    watched.end()


def test_an_edit_changes_what_depends_on_it_and_undo_takes_it_back(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/step?s=encoder.query&l=en")
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
    watched = Watched(browser, f"{address}#/step?s=decoder.weights&l=en")
    found = watched.page.locator(".result td.masked").all_inner_texts()
    assert len(found) == 6 and set(found) == {"masked"}
    watched.end()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_needs_no_sideways_scrolling(browser: Any, address: str, language: str) -> None:
    watched = Watched(browser, f"{address}#/step?l={language}", viewport={"width": 390, "height": 844})
    for _ in range(STEPS):
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390, watched.page.url
        watched.page.keyboard.press("]")
    assert watched.page.get_attribute("html", "lang") == {"en": "en", "zh": "zh-CN"}[language]
    watched.end()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, address: str, language: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python").Axe()
    watched = Watched(browser, address, color_scheme=scheme)
    for step in ("source.input", "encoder.products", "decoder.weights", "probabilities"):
        watched.page.evaluate(f"location.hash = '#/step?s={step}&l={language}'")
        watched.page.wait_for_selector(f".result[data-step='{step}']")
        found = axe.run(watched.page)
        assert found.violations_count == 0, found.generate_report()
    watched.end()
