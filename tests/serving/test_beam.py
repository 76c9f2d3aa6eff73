"""/v1/beam of a real server: the tree that the bundle's own search gives, and what it refuses."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from serving.running import RunningServer, of_a_server, running

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = of_a_server


def written(place: Path, bundle: "Bundle", languages: tuple[str, str], **decoding: Any) -> Path:
    from openwork.bundles.bundle import write_bundle

    source, target = languages
    own = bundle.settings.decoding.model_copy(update=decoding)
    changed = {"source_language": source, "target_language": target, "decoding": own}
    write_bundle(place, replace(bundle, settings=bundle.settings.model_copy(update=changed), golden=()))
    return place


@pytest.fixture(scope="module")
def folders(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("served")
    return [
        written(folder / "tiny", tiny_bundle, ("en", "de")),
        written(folder / "sampler", tiny_bundle, ("en", "fr"), samples=2),
    ]


@pytest.fixture(scope="module")
def server(folders: list[Path]) -> Iterator[RunningServer]:
    with running(*folders, workers=1) as started:
        yield started


def ask(server: RunningServer, text: str, **asked: Any) -> Any:
    answer = server.ask("POST", "/v1/beam", {"text": text, **asked})
    assert answer.status == 200, answer.body
    return answer.json


def test_answers_are_the_recorded_search(server: RunningServer, folders: list[Path]) -> None:
    from openwork.bundles.bundle import load_bundle
    from openwork.inference.searches.recorded import record_search

    bundle = load_bundle(folders[0])
    for text, asked in (("a b c", {}), ("我 爱 猫", {"beam": 5, "target": "de"}), ("d", {"bundle": "tiny", "beam": 1})):
        own = record_search(bundle, text, {"beam": asked["beam"]} if "beam" in asked else {}).tree.to_json()
        found = ask(server, text, **asked)
        assert close(found, own), text


def close(found: Any, own: Any) -> bool:
    """The same but for rounding: a worker's sums may be made in another order."""
    if isinstance(own, dict):
        return found.keys() == own.keys() and all(close(found[key], value) for key, value in own.items())
    if isinstance(own, list):
        return len(found) == len(own) and all(map(close, found, own))
    return found == pytest.approx(own, abs=1e-5) if isinstance(own, float) else found == own


def test_the_best_is_the_translation(server: RunningServer) -> None:
    for text in ("a b c", "f é 中"):
        assert ask(server, text, target="de")["finished"][0]["text"] == server.texts(text, target="de")[0]


def test_requests_at_once_get_their_own_trees(server: RunningServer) -> None:
    texts = [f"a {letter}" for letter in "bcdefgh"]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: ask(server, text, target="de"), texts))
    assert [one["source"] for one in found] == texts


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({"text": " "}, 400, "one line"), ({"text": "a\nb"}, 400, "one line"), ({"text": "a" * 2001}, 400, "2,000"),
        ({"text": "a", "beam": 17}, 422, "16"), ({"text": "a", "beam": 0}, 422, "1"),
        ({"text": "a", "best": 2}, 422, "best"), ({"text": "a", "bundle": "none"}, 400, "none"),
        ({"text": "a", "target": "fr"}, 400, "do not search with one beam"),
        ({}, 422, "text"),
    ],
)  # fmt: skip
def test_what_is_refused(server: RunningServer, asked: dict[str, Any], status: int, said: str) -> None:
    answer = server.ask("POST", "/v1/beam", asked)
    assert answer.status == status and said in answer.json["error"]
