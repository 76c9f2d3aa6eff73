"""The page of a trace in a browser: each step with its numbers, where they come from and where they go."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browsing import PHONE, Watched, in_a_browser
from inspection.test_trace_shown import TRACE, WEIGHTS, made
from openwork.inspection.trace import Trace
from openwork.inspection.trace_page import trace_page

pytestmark = in_a_browser
HOSTILE = "<img src=x onerror=alert(1)>"
CELLS = """() => [...document.querySelectorAll('.grid tbody tr')].map((row) =>
    [...row.querySelectorAll('td')].map((cell) => cell.innerText))"""


def opened(browser: Any, folder: Path, trace: Trace = TRACE, more: str = "l=en", **options: Any) -> Watched:
    file = folder / "trace.html"
    file.write_text(trace_page(trace, "en"), encoding="utf-8")
    return Watched(browser, f"{file.as_uri()}#/step?{more}", ".grid", **options)


def test_each_step_shows_its_numbers_and_its_ways(browser: Any, tmp_path: Path) -> None:
    watched = opened(browser, tmp_path)
    page = watched.page
    assert page.locator(".steps button").count() == len(TRACE.steps)
    page.click("[data-step=weights]")
    np.testing.assert_allclose(np.array(page.evaluate(CELLS), dtype=float), WEIGHTS[0])
    page.select_option(".outer select", "3")
    assert "o=4" in page.url and page.inner_text(".panel .value") == "1"
    assert page.inner_text(".panel .inputs button") == "Made up"
    page.click(".panel .goes button")
    assert page.inner_text(".centre .name") == "wide"
    page.click(".panel .inputs button")
    assert page.inner_text(".centre .name") == "weights"
    claims = page.inner_text(".print")
    for part in ("[0.25, 0.76]", "✗ wrong", "a slip", "✗ not borne out", "✓ borne out"):
        assert part in claims
    page.click("[data-step=scores]")
    assert page.evaluate(CELLS) == [["0.5000", "−∞"], ["−1.00e−5", "2.0000"]]
    watched.end()


def test_keys_move_the_window_of_a_wide_matrix(browser: Any, tmp_path: Path) -> None:
    watched = opened(browser, tmp_path, more="l=en&s=wide&c=2,1")
    page, wide = watched.page, TRACE.step("wide").value
    assert page.locator(".grid tbody td").count() == 4 * 12
    page.focus(".grid td[tabindex='0']")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('c=2,41')")
    page.wait_for_function("() => document.activeElement.classList.contains('chosen')")
    assert page.evaluate("document.activeElement.innerText") == f"{wide[1, 40]:.4f}"
    assert float(page.inner_text(".panel .value")) == pytest.approx(wide[1, 40], rel=1e-6)
    assert page.locator(".overview canvas").count() == 1
    again = Watched(browser, page.url, ".grid")
    assert again.page.inner_text(".panel .value") == page.inner_text(".panel .value")
    again.end()
    watched.end()


def test_text_from_outside_is_text(browser: Any, tmp_path: Path) -> None:
    step = replace(TRACE.step("ids"), title=HOSTILE, code=HOSTILE, labels={"position": [HOSTILE] * 4})
    watched = opened(browser, tmp_path, Trace("x", HOSTILE, (step,), (HOSTILE,)))
    page = watched.page
    assert page.locator("img").count() == 0 and page.inner_text("h1") == HOSTILE
    assert page.locator(".grid th").all_inner_texts().count(HOSTILE.replace(" ", "␣")) == 4
    watched.end()


def test_a_picture_has_each_head_over_it(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="needs the extra vision")
    grids = np.array([[[0.1, 0.4], [0.2, 0.3]], [[1.0, 0.0], [0.0, 0.0]]])
    trace = Trace(
        "label", "a label", (made("patches", "On the patches", "", grids, ("head", "row", "column")),),
        picture=np.zeros((4, 4, 1), dtype=np.uint8),
    )  # fmt: skip
    watched = opened(browser, tmp_path, trace)
    page = watched.page
    assert page.locator(".over image").count() == 2
    opacity = [float(one.get_attribute("fill-opacity")) for one in page.locator(".over rect").all()]
    np.testing.assert_allclose(opacity[:4], 0.75 * grids[0].ravel() / 0.4, atol=1e-3)
    page.locator(".over button").nth(1).click(position={"x": 40, "y": 40})
    assert page.inner_text(".panel .value") == "1"
    assert watched.axe_findings() == ""
    watched.end()


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
def test_axe_finds_nothing_and_a_phone_does_not_scroll_sideways(
    browser: Any, tmp_path: Path, language: str, scheme: str
) -> None:
    for name in ("weights", "wide"):
        watched = opened(
            browser,
            tmp_path,
            more=f"l={language}&s={name}",
            viewport=PHONE,
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        assert watched.axe_findings() == "" and not watched.is_wider_than_a_phone
        assert re.search("[一-鿿]", watched.page.inner_text(".centre h2")) is not None or language == "en"
        watched.end()
