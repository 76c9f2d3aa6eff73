"""POST /v1/attention: a real server answers what Python calculates, and refuses in a sentence what it cannot show."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serving.running import RunningServer, of_a_server

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = of_a_server


def ask(tiny_server: RunningServer, text: str, **more: Any) -> Any:
    found = tiny_server.ask("POST", "/v1/attention", {"text": text, **more})
    assert found.status == 200, found.body
    return found.json


def assert_same(one: Any, other: Any) -> None:
    """The same JSON, but for the rounding of another process."""
    if isinstance(other, dict):
        assert one.keys() == other.keys()
        for key in other:
            assert_same(one[key], other[key])
    elif isinstance(other, list):
        assert len(one) == len(other)
        for each, its in zip(one, other, strict=True):
            assert_same(each, its)
    else:
        assert one == (pytest.approx(other, abs=1e-3) if isinstance(other, float) else other)


def without_weights(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in ("maps", "through_layers")}


def test_the_answer_is_what_python_calculates(tiny_server: RunningServer, tiny_bundle: "Bundle") -> None:
    from openwork.inference.attention_maps.capture import capture
    from openwork.inference.attention_maps.facts import head_facts
    from openwork.inference.attention_maps.maps import unpacked

    found, captured = ask(tiny_server, "a b c"), capture(tiny_bundle, "a b c")
    expected = {**captured.to_json(), "facts": [one.to_json() for one in head_facts(captured.maps)]}
    assert_same(without_weights(found), without_weights(json.loads(json.dumps(expected))))
    for written, layer in zip(found["maps"], captured.maps, strict=True):
        np.testing.assert_allclose(unpacked(written), layer.weights, atol=2e-5)
    assert found["translation"] == tiny_server.texts("a b c")[0]
    through = found["through_layers"]
    np.testing.assert_allclose(unpacked(through["cross"]).sum(1), 1, atol=1e-3)
    assert through["flow"] == {"encoder": None, "cross": None} and through["flowReason"]


def test_the_probability_is_that_of_the_search(tiny_server: RunningServer) -> None:
    """Of the pieces that it found, which need not be those that the text is cut into."""
    (best,) = tiny_server.translate("a b c").json["translations"]
    terms = [piece["logProbability"] for piece in ask(tiny_server, "a b c")["targetPieces"]]
    assert sum(terms) == pytest.approx(best["log_probability"], abs=1e-3)


def test_a_given_translation_and_what_explains_it(tiny_server: RunningServer, tiny_bundle: "Bundle") -> None:
    from openwork.inference.attention_maps.capture import capture
    from openwork.inference.attention_maps.deletion import reasons

    found = ask(tiny_server, "a b c", translation="c b", why=True)
    assert [piece["predicted"] for piece in found["targetPieces"]] == ["c", " b", "</s>"]
    expected = json.loads(json.dumps(reasons(tiny_bundle, capture(tiny_bundle, "a b c", "c b")).to_json()))
    assert_same({key: found[key] for key in expected}, expected)
    pytest.importorskip("scipy", reason="maximum flows")
    assert found["through_layers"]["flow"]["cross"]["rows"] == 3


def test_a_head_is_removed_for_one_answer(tiny_server: RunningServer, tiny_bundle: "Bundle") -> None:
    from openwork.inference.attention_maps.removal import HeadName, translate_without

    before = tiny_server.texts("a b c")
    found = ask(tiny_server, "a b c", without="cross:0:1")
    other = translate_without(tiny_bundle, "a b c", HeadName("cross", 0, 1)).text
    assert found["without"] == {"head": "cross:0:1", "translation": other} and found["translation"] == before[0]
    assert tiny_server.texts("a b c") == before


@pytest.mark.parametrize(
    ("asked", "status", "problem"),
    [
        ({"text": " "}, 400, "one line"),
        ({"text": "a", "translation": "b\nc"}, 400, "one line"),
        ({"text": "a", "translation": ""}, 400, "one line"),
        ({"text": "a " * 129, "why": True}, 400, "128 is the most"),
        ({"text": "a", "translation": "b " * 600}, 400, "512 is the most"),
        ({"text": "a", "without": "cross:1:0"}, 400, "there is no layer 1"),
        ({"text": "a", "without": "self:0:0"}, 422, "without"),
        ({"text": "a", "translation": "\ud800"}, 422, "translation"),
        ({"text": "a", "wyh": True}, 422, "wyh"),
    ],
)
def test_what_is_refused(tiny_server: RunningServer, asked: dict[str, Any], status: int, problem: str) -> None:
    found = tiny_server.ask("POST", "/v1/attention", asked)
    assert (found.status, problem in found.json["error"]) == (status, True), found.body


TEXTS = st.text(max_size=12) | st.sampled_from(["\x00\x1b[31m", "👩‍👩‍👧 a", "שלום a", "\u202ea b", "我爱", "a\tb"])


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXTS, st.none() | TEXTS, st.sampled_from(["", "cross:0:0", "encoder:0:9"]), st.booleans())
def test_any_text_is_answered_or_refused(
    tiny_server: RunningServer, text: str, translation: str | None, without: str, why: bool
) -> None:
    asked = {"text": text, "translation": translation, "without": without, "why": why}
    found = tiny_server.ask("POST", "/v1/attention", asked)
    assert found.status in (200, 400, 422), found.body
    if found.status == 200:
        assert "\ufffd" not in "".join(piece["text"] for piece in found.json["sourcePieces"])


@pytest.mark.parametrize("passes", [0, 3])
def test_a_client_that_has_gone_ends_the_work(tiny_bundle: "Bundle", passes: int) -> None:
    from openwork.inference.translation import Translation
    from openwork.serving.inspecting.attention_answer import attention_answer

    asked = {"translation": "c b", "why": True, "without": ""}
    calls = 0

    def is_given_up() -> bool:
        nonlocal calls
        calls += 1
        return calls > passes

    assert attention_answer(tiny_bundle, "a b c", Translation("c"), asked, is_given_up) == {}
    assert calls == passes + 1
    assert "deletion" in attention_answer(tiny_bundle, "a b c", Translation("c"), asked, lambda: False)
