"""The Map screen in a browser: each box shows its numbers, a member of the family lacks what it lacks."""

from pathlib import Path
from typing import Any

import pytest

from browsing import PHONE, Watched, in_a_browser

pytestmark = in_a_browser
SLOTS = "(all) => all.map((one) => one.dataset.slot)"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    from openwork.cost.model_map.family import map_page, preset_map

    file: Path = tmp_path_factory.mktemp("map") / "map.html"
    file.write_text(map_page(preset_map("paper-base"), "en"), encoding="utf-8")
    return file.as_uri()


def test_each_box_shows_its_weights_and_operations(browser: Any, address: str) -> None:
    from openwork.cost.model_map.family import preset_map

    made = preset_map("paper-base")
    watched = Watched(browser, f"{address}#/map?l=en", ".figure")
    page = watched.page
    for box in made.boxes:
        page.click(f".figure [data-slot='{box.placed.slot}']")
        weights, operations = page.locator(".shares tr td:nth-child(2)").all_inner_texts()
        assert (weights, operations) == (f"{box.count:,}", f"{box.operations:,}"), box.placed.slot
        first = page.get_attribute(f"[data-slot='{box.placed.slot}']", "aria-label")
        assert f"{box.count:,} weights" in first
        shown = page.locator(".code pre").all_inner_texts()
        assert len(shown) == len(box.meaning.code) and all(one.startswith("def ") for one in shown)
    assert page.inner_text("[data-total=weights]") == f"{made.weights:,}"
    assert page.inner_text("[data-total=operations]") == f"{made.operations:,}"
    assert page.locator(".figure .way.key").count() == page.locator(".figure .way.value").count() == 1
    watched.end()


def test_what_a_member_lacks_vanishes(browser: Any, address: str) -> None:
    from openwork.cost.model_map.family import FAMILY, preset_map

    watched = Watched(browser, f"{address}#/map?l=en&b=decoder.cross_attention", ".figure")
    page = watched.page
    reference = page.eval_on_selector_all(".figure .box", SLOTS)
    assert page.locator(".figure .ghost").count() == 0
    for name in FAMILY:
        page.select_option("[data-tool=model]", name)
        page.wait_for_function("(name) => location.hash.includes(`m=${name}`)", arg=name)
        assert page.eval_on_selector_all(".figure .box", SLOTS) == [box.placed.slot for box in preset_map(name).boxes]
    page.select_option("[data-tool=model]", "gpt-small")
    assert page.locator(".figure [data-slot='decoder.cross_attention']").count() == 0
    lacking = page.eval_on_selector_all(".figure .ghost", "(all) => all.map((one) => one.dataset.lacks)")
    assert "decoder.cross_attention" in lacking and "encoder.self_attention" in lacking
    assert page.inner_text(".compared").startswith("GPT does not have: the whole encoder side, Cross-attention")
    assert page.locator(".figure .way.key").count() == 0
    page.select_option("[data-tool=model]", "paper-base")
    assert page.eval_on_selector_all(".figure .box", SLOTS) == reference
    page.go_back()
    page.wait_for_function("() => location.hash.includes('gpt-small')")
    watched.end()


def test_keys_move_and_the_address_leads_back(browser: Any, address: str) -> None:
    watched = Watched(browser, f"{address}#/map?l=en", ".figure")
    page = watched.page
    assert page.locator(".figure [tabindex='0']").count() == 1
    page.focus(".figure [tabindex='0']")
    for key in ("ArrowUp", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_function("() => location.hash.includes('b=decoder.self_attention')")
    page.wait_for_function("() => document.activeElement.dataset.slot === 'decoder.self_attention'")
    assert page.locator(".figure [tabindex='0']").count() == 1
    again = Watched(browser, page.url, ".figure")
    assert again.page.inner_text(".box-panel h2") == "Masked self-attention"
    again.end()
    page.click("[data-row='output']")
    assert page.inner_text(".box-panel h2") == "Linear"
    assert "counted at: Embedding" in page.inner_text(".box-panel")
    watched.end()


def test_the_worked_example_has_the_paper_s_figure_and_boxes_lead_to_its_steps(browser: Any, tmp_path: Path) -> None:
    from openwork.study.documents import find_example
    from openwork.study.page import step_page

    file = tmp_path / "step.html"
    file.write_text(step_page(find_example("002-8")(), "en"), encoding="utf-8")
    watched = Watched(browser, f"{file.as_uri()}#/map?l=en&t=dark&b=encoder.self_attention", ".figure")
    page = watched.page
    page.click("[data-step-of='encoder.scores']")
    page.wait_for_selector(".result .grid")
    assert "s=encoder.scores" in page.url and "t=dark" in page.url
    page.go_back()
    page.wait_for_selector(".figure")
    watched.end()


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
@pytest.mark.parametrize("name", ["paper-base", "gpt-small", "whisper-tiny"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll_sideways(
    browser: Any, address: str, name: str, language: str, scheme: str
) -> None:
    watched = Watched(
        browser, f"{address}#/map?l={language}&m={name}", ".box-panel", viewport=PHONE, color_scheme=scheme
    )
    assert watched.axe_findings() == "" and not watched.is_wider_than_a_phone
    heights = watched.page.eval_on_selector_all(
        ".figure .box rect:first-child", "(all) => all.map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 24
    watched.end()
