"""The page of a running server in a browser: what it shows is what the routes answer."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsing import PHONE, Watched, in_a_browser
from serving.running import RunningServer, running

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = in_a_browser
TEXT = "a b c\nd e f"
SCREEN = "#source"
DONE = ".output[aria-busy=false] .line"


@pytest.fixture(scope="module")
def folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "<img src=x onerror=alert(1)>".replace("/", "")
    settings = tiny_bundle.settings.model_copy(update={"source_language": "en", "target_language": "de"})
    write_bundle(place, replace(tiny_bundle, settings=settings))
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running(folder, workers=1) as started:
        yield started


def screen(browser: Any, server: RunningServer, more: str = "l=en", **options: Any) -> Watched:
    return Watched(browser, f"http://127.0.0.1:{server.port}/#/translate?{more}", SCREEN, offline=False, **options)


def translate(page: Any, text: str) -> list[str]:
    """The lines that the page shows for a text, when it is done."""
    page.fill("#source", text)
    page.wait_for_function(
        "(count) => document.querySelectorAll('.output p.line[role=group]').length === count",
        arg=sum(bool(line.strip()) for line in text.split("\n")),
    )
    page.wait_for_selector(DONE)
    return [str(one) for one in page.locator(".output p.line[role=group]").all_text_contents()]


def test_what_is_typed_is_translated_as_the_route_answers(browser: Any, server: RunningServer) -> None:
    watched = screen(browser, server)
    assert translate(watched.page, TEXT) == [server.texts(line)[0] for line in TEXT.split("\n")]
    assert "<img" in watched.page.inner_text("select option") and watched.page.locator("img").count() == 0
    watched.end()


def test_words_say_how_probable_they_are_and_light_their_source(browser: Any, server: RunningServer) -> None:
    watched = screen(browser, server)
    page = watched.page
    translate(page, "a b c")
    answer = server.translate("a b c", explain=True).json["translations"][0]
    assert page.locator("button.word").count() > 0
    page.locator("button.word").first.hover()
    rows = answer["explanation"]["alignment"]["weights"]
    assert max(rows[0]) >= 0.05  # what is lighter is not marked
    page.wait_for_selector(".behind mark")
    page.locator("button.word").first.focus()
    page.keyboard.press("ArrowRight")
    last = min(1, page.locator("button.word").count() - 1)
    assert page.evaluate("document.activeElement.dataset.word") == page.locator("button.word").nth(last).get_attribute(
        "data-word"
    )
    watched.end()


def test_another_piece_is_chosen_and_the_model_goes_on_from_there(browser: Any, server: RunningServer) -> None:
    watched = screen(browser, server)
    page = watched.page
    translate(page, "a b c")
    page.locator("button.word").first.click()
    page.wait_for_selector(".choice")
    listed = server.translate("a b c", position=0, best=10).json["translations"][0]["next_pieces"]
    assert page.locator(".choice .goes-on").all_text_contents() == [one["text"] for one in listed]
    place = next(number for number, one in enumerate(listed) if one["piece"].strip())
    page.locator(".choice").nth(place).click()
    page.wait_for_selector(".prefix")
    prefix = page.inner_text(".prefix bdi")
    page.wait_for_selector(DONE)
    page.wait_for_selector(".output p.line[role=group]")
    shown = page.locator(".output p.line[role=group]").all_text_contents()
    assert shown == server.texts("a b c", prefix=prefix) and shown[0].startswith(prefix)
    watched.end()


def test_a_refusal_is_shown_and_text_is_text(browser: Any, server: RunningServer) -> None:
    watched = screen(browser, server)
    page = watched.page
    page.route("**/v1/translate", lambda route: route.fulfill(status=400, json={"error": "<b>no</b> such thing"}))
    page.fill("#source", "<img src=x onerror=alert(1)>")
    page.wait_for_selector(".problem")
    assert page.inner_text(".problem") == "<b>no</b> such thing"
    assert page.locator("img, .problem b").count() == 0
    watched.errors = [one for one in watched.errors if "400" not in one]  # the browser notes the status
    watched.end()


def test_a_document_comes_back_translated(browser: Any, server: RunningServer, tmp_path: Path) -> None:
    watched = screen(browser, server)
    page = watched.page
    (tmp_path / "letter.txt").write_text("a b c\n\nd e f\n")
    with page.expect_download() as waiting:
        page.set_input_files("input[type=file]", tmp_path / "letter.txt")
    waiting.value.save_as(tmp_path / "back.txt")
    assert waiting.value.suggested_filename == "letter.de.txt"
    sent = server.ask("POST", "/v1/documents?name=letter.txt", (tmp_path / "letter.txt").read_bytes())
    assert (tmp_path / "back.txt").read_bytes() == sent.body
    watched.end()


def test_a_token_opens_the_page(browser: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    with running(folder, workers=1, token_file=tmp_path / "token") as server:
        watched = Watched(
            browser, f"http://127.0.0.1:{server.port}/#/translate?l=en", "input[type=password]", offline=False
        )
        page = watched.page
        page.fill("input[type=password]", "wrong")
        page.keyboard.press("Tab")
        page.wait_for_selector(".problem:not(:empty)")
        page.fill("input[type=password]", "s3cret")
        page.keyboard.press("Tab")
        page.wait_for_selector(SCREEN)
        assert translate(page, "a b c")
        watched.errors = [one for one in watched.errors if "401" not in one]
        watched.end()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_a_phone_does_not_scroll_sideways(
    browser: Any, server: RunningServer, language: str, scheme: str
) -> None:
    watched = screen(browser, server, f"l={language}", viewport=PHONE, color_scheme=scheme)
    assert watched.axe_findings() == "" and not watched.is_wider_than_a_phone
    translate(watched.page, TEXT)
    watched.page.locator("button.word").first.click()
    watched.page.wait_for_selector(".choice")
    assert watched.axe_findings() == "" and not watched.is_wider_than_a_phone
    watched.end()
