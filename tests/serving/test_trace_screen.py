"""The Step screen of a running server, and its route: the steps are those that Python calculates."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from browsing import Watched, in_a_browser
from serving.running import RunningServer

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = in_a_browser


def test_the_route_answers_what_python_calculates(tiny_server: RunningServer, tiny_bundle: "Bundle") -> None:
    from openwork.inference.explain import explain
    from openwork.inspection.trace import Selection
    from openwork.inspection.trace_page import trace_content

    for layer in (None, 0):
        asked = {"text": "a b c"} | ({} if layer is None else {"layer": layer})
        answer = tiny_server.ask("POST", "/v1/explain", asked)
        expected = json.loads(json.dumps(trace_content(explain(tiny_bundle, "a b c", Selection(layer)))))
        assert answer.status == 200
        found = answer.json
        for one in (*found["steps"], *expected["steps"]):
            one.pop("value")  # rounded in another order in another process
        assert found == expected


@pytest.mark.parametrize(
    ("asked", "status", "problem"),
    [
        ({"text": " "}, 400, "one line"),
        ({"text": "a\nb"}, 400, "one line"),
        ({"text": "a " * 70}, 400, "64 is the most"),
        ({"text": "a", "layer": 7}, 400, "there is no layer 7"),
        ({"text": "a", "layer": -1}, 422, "layer"),
        ({"text": "a", "layers": 1}, 422, "layers"),
    ],
)
def test_what_is_refused(tiny_server: RunningServer, asked: dict[str, Any], status: int, problem: str) -> None:
    found = tiny_server.ask("POST", "/v1/explain", asked)
    assert (found.status, problem in found.json["error"]) == (status, True), found.body


def test_a_sentence_is_asked_and_a_layer_opened(browser: Any, tiny_server: RunningServer) -> None:
    watched = Watched(browser, f"http://127.0.0.1:{tiny_server.port}/#/step?l=en", "#sentence", offline=False)
    page = watched.page
    page.fill("#sentence", "d e")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid")
    few = page.locator(".steps button").count()
    assert page.inner_text("h1") == f"d e → {tiny_server.texts('d e')[0]}"
    page.select_option(".ask select", "0")
    page.wait_for_function(f"() => document.querySelectorAll('.steps button').length > {few}")
    page.click("summary:has-text('Encoder, Layer 1')")
    page.click("[data-step='encoder.layers.0.self_attention.scores']")
    assert "d=1" in page.url and "q=d%20e" in page.url
    again = Watched(browser, page.url, ".grid", offline=False)
    assert again.page.inner_text(".centre .name") == "encoder.layers.0.self_attention.scores"
    assert again.axe_findings() == ""
    again.end()
    watched.end()
