"""Each kind of page in a real browser: on a phone, in both directions of writing, themes and languages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import Watched, in_a_browser, opened_browser
from made_pages import HEBREW, ISO, PAGES

pytestmark = in_a_browser
PHONE, DESK = ({"width": width, "height": 844} for width in (390, 1200))
READY = "h1"
LEAST_TEXT = 8  # pixels, of a picture that is shrunk to a phone

OPEN_ALL = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"

# Of every visible picture: what of its text leaves it, and the size of its smallest text as it is shown.
PICTURES = """() => [...document.querySelectorAll('svg.openwork-figure')].filter((svg) => svg.getClientRects().length)
  .map((svg) => {
    const frame = svg.getBoundingClientRect();
    const scale = frame.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll('text')].filter((one) => one.textContent);
    const outside = texts.filter((one) => {
      const box = one.getBoundingClientRect();
      return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
    });
    return {
      title: svg.querySelector('title').textContent,
      left: frame.left, right: frame.right,
      outside: outside.map((one) => one.textContent),
      smallest: Math.min(...texts.map((one) => parseFloat(getComputedStyle(one).fontSize) * scale)),
    };
  })"""

# Of every visible text that holds both dates: where the Hebrew and the ISO date begin and end on the screen.
PLACES = """([hebrew, iso]) => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const box = (node, from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return range.getClientRects()[0];
  };
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(iso);
    if (at < 0 || ['title', 'STYLE'].includes(node.parentElement.tagName)) continue;
    const first = box(node, at, at + 1), last = box(node, at + iso.length - 1, at + iso.length);
    if (!first) continue;
    const other = node.data.indexOf(hebrew);
    const before = other < 0 ? null : box(node, other, other + 1), end = other + hebrew.length;
    found.push({
      tag: node.parentElement.tagName, first: first.left, last: last.left,
      hebrewFirst: before && before.left, hebrewLast: before && box(node, end - 1, end).left,
    });
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def opened(browser: Any, folder: Path, kind: str, language: str = "en", **options: Any) -> Watched:
    """A page of this kind, which is made once for each language."""
    file = folder / f"{kind}-{language}.html"
    if not file.exists():
        file.write_text(PAGES[kind](language), encoding="utf-8")
    place = f"#/step?l={language}" if kind == "app" else ""
    return Watched(browser, f"{file.as_uri()}{place}", READY, **options)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", PAGES)
def test_it_fits_a_phone(browser: Any, folder: Path, kind: str, language: str) -> None:
    watched = opened(browser, folder, kind, language, viewport=PHONE)
    watched.page.evaluate(OPEN_ALL)
    assert not watched.is_wider_than_a_phone
    for picture in watched.page.evaluate(PICTURES):
        assert picture["left"] >= 0 and picture["right"] <= PHONE["width"], picture
        assert picture["outside"] == [] and picture["smallest"] >= LEAST_TEXT, picture
    hidden = watched.page.locator(".scroll").evaluate_all(
        "(all) => all.filter((one) => one.scrollWidth > one.clientWidth && one.tabIndex !== 0).length"
    )
    assert kind == "app" or hidden == 0, "what scrolls can be reached by keyboard"
    watched.end()


@pytest.mark.parametrize("kind", ["demo", "explain"])
def test_an_iso_date_beside_hebrew_is_read_from_left_to_right(browser: Any, folder: Path, kind: str) -> None:
    watched = opened(browser, folder, kind, viewport=DESK)
    found = watched.page.evaluate(PLACES, [HEBREW, ISO])
    assert {one["tag"] for one in found} >= {"demo": {"BDI", "text"}, "explain": {"BDI"}}[kind]
    for one in found:
        assert one["first"] < one["last"], one
    titles = [one for one in found if one["hebrewFirst"] is not None]
    assert len(titles) == (kind == "demo"), "the title of the map; of the two maps one is shown"
    for one in titles:  # the Hebrew date from right to left, and left of the other
        assert one["hebrewLast"] < one["hebrewFirst"] < one["first"], one
    watched.end()


@pytest.mark.parametrize("kind", ["data check", "experiment"])
def test_hebrew_in_a_table_is_read_from_right_to_left(browser: Any, folder: Path, kind: str) -> None:
    watched = opened(browser, folder, kind, viewport=DESK)
    directions = watched.page.locator(f"bdi:has-text('{HEBREW}')").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).direction)"
    )
    assert directions and set(directions) == {"rtl"}
    watched.end()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing(browser: Any, folder: Path, kind: str, scheme: str, language: str) -> None:
    watched = opened(browser, folder, kind, language, color_scheme=scheme, viewport=DESK)
    assert watched.axe_findings() == ""
    watched.page.evaluate(OPEN_ALL)
    assert watched.axe_findings() == ""
    watched.end()
