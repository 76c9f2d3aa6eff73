"""/v1/map of a real server, and the Map screen that asks it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from serving.running import RunningServer, of_a_server, running

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytestmark = of_a_server


@pytest.fixture(scope="module")
def folder(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Path:
    from openwork.bundles.bundle import write_bundle

    place = tmp_path_factory.mktemp("served") / "paper-base"  # the name of a preset too
    write_bundle(place, replace(tiny_bundle, golden=()))
    return place


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running(folder, workers=1) as started:
        yield started


def drawn(server: RunningServer, **asked: str) -> Any:
    answer = server.ask("POST", "/v1/map", asked)
    assert answer.status == 200, answer.body
    return answer.json


def test_a_bundle_and_a_preset_are_drawn(server: RunningServer, folder: Path) -> None:
    from openwork.cost.model_map.family import FAMILY, bundle_map, preset_map
    from openwork.cost.model_map.maps import MapPages

    assert drawn(server) == drawn(server, bundle="paper-base") == MapPages().content([bundle_map(folder)], FAMILY)
    assert drawn(server, preset="bert-small") == MapPages().content([preset_map("bert-small")], FAMILY)
    assert server.texts("a b")  # the process that has drawn still translates


def test_what_the_route_refuses(server: RunningServer) -> None:
    for asked in (
        {"bundle": "none"},
        {"preset": "none"},
        {"preset": "nano", "bundle": "paper-base"},
        {"presets": "nano"},
    ):
        assert server.ask("POST", "/v1/map", asked).status in (400, 422)


def test_the_screen_asks_when_it_is_opened(server: RunningServer, folder: Path) -> None:
    from browsing import Watched, opened_browser
    from openwork.cost.model_map.family import bundle_map, preset_map

    with opened_browser() as browser:
        watched = Watched(browser, f"http://127.0.0.1:{server.port}/#/translate?l=en", "#source", offline=False)
        page = watched.page
        asked = lambda: sum(url.endswith("/v1/map") for url in watched.requests)  # noqa: E731
        assert asked() == 0
        page.click("[data-screen=map]")
        page.wait_for_selector(".figure")
        page.wait_for_function("() => document.querySelectorAll('[data-tool=model] option').length > 3")
        assert page.inner_text("[data-total=weights]") == f"{bundle_map(folder).weights:,}"
        page.select_option("[data-tool=model]", "bert-base")
        page.wait_for_selector(".figure .ghost")
        assert page.inner_text("[data-total=weights]") == f"{preset_map('bert-base').weights:,}"
        assert asked() == 3  # the bundle, the paper's model, and the chosen one
        page.select_option("[data-tool=model]", "bundle:paper-base")
        assert page.inner_text("[data-total=weights]") == f"{bundle_map(folder).weights:,}"
        assert asked() == 3 and watched.axe_findings() == ""
        again = Watched(browser, f"http://127.0.0.1:{server.port}/#/map?l=en&m=vit-base", ".figure", offline=False)
        again.page.wait_for_selector("[data-slot='source.embedding']")
        assert again.page.inner_text("[data-total=weights]") == f"{preset_map('vit-base').weights:,}"
        again.end()
        watched.end()
