"""The Attention screen in a browser: its cells are the captured weights, and it stays usable with 512 pieces."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from browsing import PHONE, Watched, in_a_browser
from openwork.inspection.page import app_page
from serving.running import RunningServer

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = in_a_browser
WEIGHTS = """() => [...document.querySelectorAll('.heat tbody tr')].map((row) =>
    [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.weight)))"""
HOSTILE = "<img src=x onerror=alert(1)>"


def written(bundle: "Bundle", source: str, translation: str) -> dict[str, Any]:
    from openwork.inference.attention_maps.asking import AttentionQuestion, ask_attention

    found = ask_attention(bundle, source, AttentionQuestion(translation, flow=True))
    return {**found.to_json(), "languages": ["en", "de"]}


def page_of(tmp_path: Path, content: dict[str, Any]) -> str:
    file = tmp_path / "attention.html"
    file.write_text(app_page("attention", {"attention": content}), encoding="utf-8")
    return file.as_uri()


def test_cells_are_the_captured_weights(browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    from openwork.inference.attention_maps.capture import capture

    content = written(tiny_bundle, "a b c", "c b")
    watched = Watched(browser, f"{page_of(tmp_path, content)}#/attention?l=en", ".heat")
    page, captured = watched.page, capture(tiny_bundle, "a b c", "c b")
    for layer in captured.maps:
        for head, weights in enumerate(layer.weights):
            page.click(f".thumbnail[data-head='{layer.kind} {layer.layer} {head}']")
            shown = np.array(page.evaluate(WEIGHTS))
            np.testing.assert_allclose(shown, weights, atol=1e-5)
            np.testing.assert_allclose(shown.sum(-1), 1.0, atol=1e-4)
    page.click(".thumbnail[data-head^='decoder']")
    positions = len(captured.target_pieces)
    assert page.locator(".heat td.masked").count() == positions * (positions - 1) // 2
    assert page.locator(".heat tbody th").first.inner_text().startswith("<s> → ")
    watched.end()


def test_keys_move_in_the_map_and_the_address_leads_back(browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    address = page_of(tmp_path, written(tiny_bundle, "a b c", "c b"))
    watched = Watched(browser, f"{address}#/attention?l=en&k=encoder", ".heat")
    page = watched.page
    assert page.locator(".heat td[tabindex='0']").count() == 1
    page.focus(".heat td[tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('c=2,2')")
    chosen = page.inner_text(".panel .cell")
    again = Watched(browser, page.url, ".heat")
    assert again.page.inner_text(".panel .cell") == chosen
    again.end()
    watched.end()


def test_symbols_are_hidden_and_the_badge_says_so(browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    watched = Watched(browser, f"{page_of(tmp_path, written(tiny_bundle, 'a b c', 'c b'))}#/attention?l=en", ".heat")
    page = watched.page
    assert page.locator(".badge").count() == 0
    page.click("[data-tool=symbols]")
    page.wait_for_selector(".badge")
    shown = np.array(page.evaluate(WEIGHTS))
    np.testing.assert_allclose(shown.sum(-1), 1.0, atol=1e-9)
    page.click("[data-tool=lines]")
    page.wait_for_selector(".lines-map line", state="attached")  # a level line has no height
    watched.end()


def test_a_reader_separates_words(browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    watched = Watched(
        browser, f"{page_of(tmp_path, written(tiny_bundle, 'a b c', 'c b'))}#/attention?l=en&v=word", ".heat"
    )
    page = watched.page
    rows = lambda: page.locator(".heat thead th").all_inner_texts()  # noqa: E731
    before = rows()
    page.click(".own-words summary")
    page.fill("[data-words='0']", "abc")
    page.wait_for_function("() => location.hash.includes('ws=abc')")
    assert len(rows()) == len(before) - 2 and any("abc" in one for one in rows())
    np.testing.assert_allclose(np.array(page.evaluate(WEIGHTS)).sum(-1), 1.0, atol=1e-4)  # nothing is lost
    page.fill("[data-words='0']", "a x c")
    page.wait_for_selector(".own-words .problem")
    assert rows() == before
    watched.end()


def test_rare_characters_are_whole_and_their_parts_are_bytes(browser: Any, tmp_path: Path) -> None:
    """A tokenizer that has never seen them cuts characters into bytes; as characters each of them is one column."""
    from inference.attention_maps.bundles import bundle_of

    source, translation = "我𠮷 🦄 é", "🦄爱"
    content = written(bundle_of(), source, translation)
    assert len(content["sourcePieces"]) > len(source)
    watched = Watched(browser, f"{page_of(tmp_path, content)}#/attention?l=zh", ".heat")
    page = watched.page
    columns = lambda: page.locator(".heat thead th").all_inner_texts()  # noqa: E731
    assert any(re.fullmatch("⟨[0-9A-F]{2}( [0-9A-F]{2})*⟩", one) for one in columns())
    assert not re.search("[Ġ\ufffd]", page.inner_text("body"))
    page.select_option(".tools select >> nth=3", "character")
    page.wait_for_function("() => location.hash.includes('v=character')")
    assert [one for one in columns() if one != "␣"][:5] == [*"我𠮷🦄é", "</s>"]
    assert not re.search("[Ġ\ufffd⟨]", page.inner_text(".heat"))
    np.testing.assert_allclose(np.array(page.evaluate(WEIGHTS)).sum(-1), 1.0, atol=1e-4)
    watched.end()


def test_files_have_title_axes_legend_and_numbers(browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    content = written(tiny_bundle, "a b c", "c b")
    content["sourcePieces"][0]["text"] = HOSTILE
    watched = Watched(browser, f"{page_of(tmp_path, content)}#/attention?l=en", ".heat")
    page, saved = watched.page, {}
    for kind in ("svg", "png", "csv"):
        with page.expect_download() as waiting:
            page.click(f"[data-save={kind}]")
        waiting.value.save_as(tmp_path / f"map.{kind}")
        saved[kind] = (tmp_path / f"map.{kind}").read_bytes()
    from xml.etree import ElementTree

    root = ElementTree.fromstring(saved["svg"])
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Cross-attention, Layer 1, mean of all heads" in texts and "weight" in texts and "source" in texts
    assert HOSTILE.replace(" ", "␣") in texts and b"<img" not in saved["svg"]
    assert saved["png"].startswith(b"\x89PNG") and saved["csv"].count(b"\r\n") == 1 + len(content["targetPieces"])
    assert page.locator("img").count() == 0
    watched.end()


def test_heads_have_pythons_facts_and_the_flow_is_shown(browser: Any, tiny_bundle: "Bundle", tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="maximum flows")
    from openwork.inference.attention_maps.maps import unpacked

    content = written(tiny_bundle, "a b c", "c b")
    watched = Watched(browser, f"{page_of(tmp_path, content)}#/attention?l=en&k=encoder&h=flow", ".heat")
    page = watched.page
    flow = unpacked(content["through_layers"]["flow"]["encoder"])
    np.testing.assert_allclose(np.array(page.evaluate(WEIGHTS)), flow, atol=1e-9)
    first = next(one for one in content["facts"] if one["kind"] == "encoder")
    names = ("entropy", "largest", "distance", "before", "same", "after")
    shown = page.locator(".facts tbody tr").first.locator("td").all_inner_texts()
    assert shown == [f"{first[name]:.2f}" for name in names]
    page.select_option(".tools select >> nth=0", "decoder")
    page.wait_for_selector(".heat td.masked")
    assert page.input_value(".tools select >> nth=2") == "mean"
    watched.end()


def test_512_pieces_open_with_few_elements(browser: Any, tmp_path: Path) -> None:
    import base64

    size, heads = 512, 4
    weights = np.full((heads, size, size), 1 / size)
    shares = base64.b64encode(np.round(weights * 65_535).astype("<u2").tobytes()).decode()
    piece = {"start": None, "end": None, "special": True}
    content = {
        "source": "x", "translation": "y", "languages": ["en", "de"], "facts": [],
        "sourcePieces": [{"text": f"s{n}", **piece} for n in range(size)],
        "targetPieces": [{"input": "i", "predicted": f"t{n}", "logProbability": -1, **piece} for n in range(size)],
        "maps": [
            {"kind": kind, "layer": layer, "heads": heads, "rows": size, "columns": size, "weights": shares}
            for kind in ("encoder", "decoder", "cross")
            for layer in range(2)
        ],
    }  # fmt: skip
    watched = Watched(browser, f"{page_of(tmp_path, content)}#/attention?l=en", ".drawing")
    assert watched.page.evaluate("document.querySelectorAll('*').length") < 5000
    watched.page.focus(".drawing")
    watched.page.keyboard.press("ArrowDown")
    assert "t1 attends to s0" in str(watched.page.get_attribute(".drawing", "aria-label"))
    watched.end()


def test_a_sentence_is_asked_of_the_server(browser: Any, tiny_server: RunningServer) -> None:
    watched = Watched(browser, f"http://127.0.0.1:{tiny_server.port}/#/attention?l=en", "#sentence", offline=False)
    page = watched.page
    page.fill("#sentence", "d e")
    page.keyboard.press("Enter")
    page.wait_for_selector(".heat")
    answer = tiny_server.ask("POST", "/v1/attention", {"text": "d e"})
    assert answer.status == 200 and answer.json["translation"] == tiny_server.texts("d e")[0]
    assert page.locator(".pair bdi").all_inner_texts()[0] == "d e"
    assert page.locator(".heat tbody tr").count() == len(answer.json["targetPieces"])
    watched.end()


def test_a_translation_leads_to_its_attention_and_the_address_back(browser: Any, tiny_server: RunningServer) -> None:
    watched = Watched(browser, f"http://127.0.0.1:{tiny_server.port}/#/translate?l=en", "#source", offline=False)
    page = watched.page
    page.fill("#source", "d e")
    page.wait_for_selector(".output[aria-busy=false] button.word")
    page.locator("button.word").first.click()
    page.click("[data-tool=attention]")
    page.wait_for_selector(".heat")
    assert page.input_value("#sentence") == "d e" and "q=d%20e" in page.url
    again = Watched(browser, page.url, ".heat", offline=False)
    assert again.page.inner_text(".pair") == page.inner_text(".pair")
    again.end()
    page.go_back()
    page.wait_for_selector("#source")
    watched.end()


def test_the_methods_are_measured_and_a_head_is_removed(browser: Any, tiny_server: RunningServer) -> None:
    watched = Watched(browser, f"http://127.0.0.1:{tiny_server.port}/#/attention?l=en", "#sentence", offline=False)
    page = watched.page
    page.fill("#sentence", "d e")
    page.keyboard.press("Enter")
    page.click("[data-tool=why]")
    page.wait_for_selector(".methods")
    answer = tiny_server.ask("POST", "/v1/attention", {"text": "d e", "why": True, "without": "cross:0:1"}).json
    ranked = sorted(answer["deletion"]["curves"], key=lambda curve: curve["area"])
    assert page.locator(".methods th").all_inner_texts() == [curve["method"] for curve in ranked]
    page.click("[data-method=occlusion]")
    (scores,) = (one["scores"] for one in answer["attributions"]["methods"] if one["method"] == "occlusion")
    shown = [float(one.replace("−", "-")) for one in page.locator(".scores td.count").all_inner_texts()]
    np.testing.assert_allclose(shown, scores, atol=6e-4)
    page.click(".thumbnail[data-head='cross 0 1']")
    page.click("[data-tool=remove]")
    page.wait_for_selector(".without")
    assert page.text_content(".without bdi") == answer["without"]["translation"]
    assert page.locator(".methods").count() == 1 and watched.axe_findings() == ""
    watched.end()


def test_what_the_route_refuses(tiny_server: RunningServer) -> None:
    for text in ("", "a\nb", "a" * 3000):
        refused = tiny_server.ask("POST", "/v1/attention", {"text": text})
        assert refused.status == 400 and "one line" in refused.json["error"]
    for more in ({"bundle": "none"}, {"without": "cross:0:99"}, {"without": "cross"}, {"why": "perhaps"}):
        assert tiny_server.ask("POST", "/v1/attention", {"text": "a", **more}).status in (400, 422)


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("zh", "dark")])
def test_axe_finds_nothing_and_a_phone_does_not_scroll_sideways(
    browser: Any, tiny_bundle: "Bundle", tmp_path: Path, language: str, scheme: str
) -> None:
    address = page_of(tmp_path, written(tiny_bundle, "a b c d e f g h", "h g f e d c b a"))
    for more in ("", "&g=1&x=1", "&k=decoder&h=0"):
        watched = Watched(
            browser, f"{address}#/attention?l={language}{more}", ".panel", viewport=PHONE, color_scheme=scheme
        )
        assert watched.axe_findings() == "" and not watched.is_wider_than_a_phone
        watched.end()
