"""The Beam screen in a browser: its scores are those of the decoder, and the replay shows what was known by then."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsing import PHONE, Watched, in_a_browser
from serving.running import RunningServer

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle
    from openwork.decoding.search_tree import SearchTree

pytestmark = in_a_browser
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def tree(tiny_bundle: "Bundle") -> "SearchTree":
    from openwork.inference.searches.recorded import record_search

    return record_search(tiny_bundle, "a b c", {"beam": 4, "best": 4}).tree


def opened(browser: Any, folder: Path, tree: "SearchTree", more: str = "l=en", **options: Any) -> Watched:
    from openwork.inference.searches.html import search_page

    file = folder / "search.html"
    file.write_text(search_page(tree, "en"), encoding="utf-8")
    return Watched(browser, f"{file.as_uri()}#/beam?{more}", ".beam-tree", **options)


def numbers(page: Any, name: str) -> list[float]:
    return [float(one.get_attribute(f"data-{name}")) for one in page.locator(f"[data-{name}]").all()]


def test_scores_are_those_of_the_decoder_and_of_scoring_again(
    browser: Any, tmp_path: Path, tree: "SearchTree", tiny_bundle: "Bundle"
) -> None:
    from openwork.inference.attention_maps.forced import ForcedTranslation
    from openwork.inference.settings import settings_over
    from openwork.inference.translator import BatchTranslator

    watched = opened(browser, tmp_path, tree)
    page = watched.page
    settings = settings_over(tiny_bundle.settings.decoding, {"beam": 4, "best": 4})
    (found,) = BatchTranslator.of(tiny_bundle, settings).translate(["a b c"])
    texts = page.locator(".finished tbody th").all_inner_texts()
    ours = dict(zip(texts, zip(numbers(page, "score"), numbers(page, "final"), strict=True), strict=True))
    assert len(found) > 1
    for one in found:
        score, final = ours[one.text or "∅"]
        assert score == pytest.approx(one.log_probability, abs=1e-6) and final == pytest.approx(one.score, abs=1e-6)
    best = tree.finished[0]
    source, target = tiny_bundle.tokenizers.source, tiny_bundle.tokenizers.target
    output = [*found[0].pieces, *[target.end_id] * found[0].finished]
    forced = ForcedTranslation.of(tiny_bundle.model, [*source.encode("a b c"), source.end_id], output)
    (again,) = forced.terms_of_many(forced.source[None]).tolist()
    pieces = [tree.nodes[node].log_probability for node in tree.path(best.node)[1:]]
    assert pieces == pytest.approx(again, abs=1e-5)
    watched.end()


def test_the_replay_shows_what_was_known_by_then(browser: Any, tmp_path: Path, tree: "SearchTree") -> None:
    watched = opened(browser, tmp_path, tree)
    page, last = watched.page, max(node.step for node in tree.nodes)
    for step in (last, 1, 2):
        page.fill(".slider input", str(step))
        page.wait_for_function(f"() => location.hash.includes('s={step}&')")
        shown = {int(one.get_attribute("data-node")) for one in page.locator(".node").all()}
        assert shown == {
            node.id for node in tree.nodes if node.step <= step and (node.fate != "dropped" or node.step == step)
        }
        assert (page.locator(".node.best").count() > 0) == (step == last)  # which one is best is known at the end
        assert (tree.finished[0].text in page.inner_text(".pair")) == (step == last)
        listed = page.locator(".candidates tbody tr").count()
        assert listed == sum(node.step == step for node in tree.nodes)
    page.click("[data-tool=dropped]")
    assert page.locator(".node").count() == sum(node.step <= 2 for node in tree.nodes)
    again = Watched(browser, page.url, ".beam-tree")
    assert again.page.locator(".node").count() == page.locator(".node").count()
    again.end()
    watched.end()


def test_keys_move_in_the_tree(browser: Any, tmp_path: Path, tree: "SearchTree") -> None:
    watched = opened(browser, tmp_path, tree, more=f"l=en&s={max(node.step for node in tree.nodes)}&n=0")
    page = watched.page
    assert page.locator(".node[tabindex='0']").count() == 1
    page.focus(".node[tabindex='0']")
    path = tree.path(tree.finished[0].node)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.dataset.node !== '0'")
    first = int(page.evaluate("document.activeElement.dataset.node"))
    assert tree.nodes[first].parent == path[0]
    node = tree.nodes[first]
    assert f"{node.score:.4f}".replace("-", "−") in page.inner_text(".panel .lines")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.activeElement.dataset.node === '0'")
    watched.end()


def test_files_and_text_from_outside(browser: Any, tmp_path: Path, tree: "SearchTree") -> None:
    from dataclasses import replace

    nodes = tuple(replace(node, piece=HOSTILE) if node.id else node for node in tree.nodes)
    finished = tuple(replace(one, text=HOSTILE) for one in tree.finished)
    watched = opened(browser, tmp_path, replace(tree, source=HOSTILE, nodes=nodes, finished=finished))
    page = watched.page
    assert page.locator("img").count() == 0
    saved = {}
    for kind in ("svg", "csv"):
        with page.expect_download() as waiting:
            page.click(f"[data-save={kind}]")
        waiting.value.save_as(tmp_path / f"search.{kind}")
        saved[kind] = (tmp_path / f"search.{kind}").read_text(encoding="utf-8")
    from xml.etree import ElementTree

    texts = [one.text or "" for one in ElementTree.fromstring(saved["svg"]).iter("{http://www.w3.org/2000/svg}text")]
    assert f"{HOSTILE} → {HOSTILE}" in texts and any("best hypothesis" in text for text in texts)
    assert saved["csv"].count("\n") == 1 + len(tree.nodes)
    watched.end()


def test_a_sentence_is_asked_of_the_server(browser: Any, tiny_server: RunningServer) -> None:
    watched = Watched(browser, f"http://127.0.0.1:{tiny_server.port}/#/beam?l=en", "#sentence", offline=False)
    page = watched.page
    page.fill("#sentence", "d e")
    page.select_option(".ask select", "3")
    page.click(".ask button")
    page.wait_for_selector(".beam-tree")
    answer = tiny_server.ask("POST", "/v1/beam", {"text": "d e", "beam": 3}).json
    assert numbers(page, "final") == pytest.approx([one["final"] for one in answer["finished"]], abs=1e-5)
    assert "q=d%20e" in page.url and "b=3" in page.url
    page.evaluate("location.hash = '#/beam?l=en&q=a%20b&s=1&b=2'")  # another line, and another width
    page.wait_for_function("() => document.querySelector('.pair').innerText.startsWith('a b')")
    assert page.locator(".slider").inner_text().startswith("step 1 of") and "b=2" in page.url
    page.go_back()
    page.wait_for_function("() => document.querySelector('.pair').innerText.startsWith('d e')")
    again = Watched(browser, page.url, ".beam-tree", offline=False)
    assert numbers(again.page, "final") == pytest.approx(numbers(page, "final"), abs=1e-5)
    again.end()
    watched.end()


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
def test_axe_finds_nothing_and_a_phone_does_not_scroll_sideways(
    browser: Any, tmp_path: Path, tree: "SearchTree", language: str, scheme: str
) -> None:
    watched = opened(browser, tmp_path, tree, more=f"l={language}&a=1", viewport=PHONE, color_scheme=scheme)
    assert watched.axe_findings() == "" and not watched.is_wider_than_a_phone
    watched.end()
