"""Each kind of page in a real browser: on a phone, in both directions of writing, themes and languages."""

from pathlib import Path
from typing import Any

import pytest

from browsing import PHONE, Watched, in_a_browser
from made_pages import ARABIC, HEBREW, ISO, PAGES

pytestmark = in_a_browser
DESK = {"width": 1200, "height": 844}
READY = "h1"
WITH_A_SCRIPT = ("explain", "app")
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

# Of every visible title that holds both texts, and every table's cell that holds the second: where the first and the
# last character of each of them begin on the screen.
PLACES = """([before, iso]) => {
  const ends = (all, text) => {
    for (const node of all.filter((one) => one.data.includes(text))) {
      const at = node.data.indexOf(text);
      const left = [at, at + text.length - 1].map((place) => {
        const range = document.createRange();
        range.setStart(node, place);
        range.setEnd(node, place + 1);
        return range.getBoundingClientRect().left;
      });
      return { first: left[0], last: left[1] };
    }
    return null;
  };
  return [...document.querySelectorAll('h1, td, text')].filter((one) => one.getClientRects().length).flatMap((one) => {
    const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), all = [];
    while (walker.nextNode()) all.push(walker.currentNode);
    const found = { tag: one.tagName, before: ends(all, before), iso: ends(all, iso) };
    return found.iso && (found.before || one.tagName === 'TD') ? [found] : [];
  });
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def opened(browser: Any, folder: Path, kind: str, language: str = "en", **options: Any) -> Watched:
    """A page of this kind, which is made once for each language."""
    file = folder / f"{kind}-{language}.html"
    if not file.exists():
        file.write_text(PAGES[kind](language), encoding="utf-8")
    place = f"#/step?l={language}" if kind in WITH_A_SCRIPT else ""
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
    assert kind in WITH_A_SCRIPT or hidden == 0, "what scrolls can be reached by keyboard"
    watched.end()


@pytest.mark.parametrize(
    ("kind", "date", "tags"),
    [("demo", HEBREW, ["TD", "text"]), ("demo", ARABIC, ["TD", "text"]), ("explain", HEBREW, ["H1"])],
)
def test_an_iso_date_beside_one_from_right_to_left(
    browser: Any, folder: Path, kind: str, date: str, tags: list[str]
) -> None:
    watched = opened(browser, folder, kind, viewport=DESK)
    found = watched.page.evaluate(PLACES, [date, ISO])
    assert {one["tag"] for one in found} == set(tags)
    for one in found:
        assert one["iso"]["first"] < one["iso"]["last"], one
    titles = [one for one in found if one["before"]]
    assert len(titles) == 1, "of the two maps of a date one is shown"
    for one in titles:
        assert one["before"]["last"] < one["before"]["first"] < one["iso"]["first"], one
    watched.end()


@pytest.mark.parametrize("kind", ["data check", "experiment"])
def test_hebrew_in_a_table_is_read_from_right_to_left(browser: Any, folder: Path, kind: str) -> None:
    watched = opened(browser, folder, kind, viewport=DESK)
    directions = watched.page.locator(f"bdi:has-text('{HEBREW}')").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).direction)"
    )
    assert directions and set(directions) == {"rtl"}
    watched.end()


def test_paper_shows_what_is_folded_and_the_large_maps(browser: Any, folder: Path) -> None:
    watched = opened(browser, folder, "demo", viewport=PHONE, color_scheme="dark")
    page = watched.page
    folded = page.get_by_text("peak learning rate")
    assert not folded.is_visible() and page.locator(".narrow").first.is_visible()
    page.emulate_media(media="print")
    assert folded.is_visible() and not page.locator(".narrow").first.is_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    watched.end()


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing(browser: Any, folder: Path, kind: str, language: str, scheme: str) -> None:
    watched = opened(browser, folder, kind, language, color_scheme=scheme, viewport=DESK)
    watched.page.evaluate(OPEN_ALL)
    assert watched.axe_findings() == ""
    watched.end()
