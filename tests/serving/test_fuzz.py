"""The server against its own description: requests that follow it, and that do not, get answers that do."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from serving.running import RunningServer, of_a_server, running

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle

pytest.importorskip("httptools", reason="needs the extra serve")
schemathesis: Any = pytest.importorskip("schemathesis", reason="needs the package schemathesis")
pytestmark = of_a_server
EXAMPLES = 25  # of each route and each kind
UNAVAILABLE = 503  # which the description names: /ready, and a request that takes too long


@pytest.fixture(scope="module")
def server(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    from openwork.bundles.bundle import write_bundle

    place: Path = tmp_path_factory.mktemp("served") / "tiny"
    write_bundle(place, tiny_bundle)
    with running(place, workers=1) as started:
        yield started


@pytest.fixture(scope="module")
def description(server: RunningServer) -> Any:
    return schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}/openapi.json")


def operations(description: Any) -> list[Any]:
    return [one.ok() for one in description.get_all_operations()]


def test_every_route_is_described_with_its_body_and_answers(description: Any) -> None:
    found = {(one.method.upper(), one.path) for one in operations(description)}
    assert {("POST", "/v1/translate"), ("POST", "/translate"), ("POST", "/detect"), ("GET", "/languages")} <= found
    for path, methods in description.raw_schema["paths"].items():
        for method, route in methods.items():
            assert "200" in route["responses"] and route["description"], path
            assert method == "get" or all(kind["schema"] for kind in route["requestBody"]["content"].values()), path


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_answers_follow_the_description(description: Any, mode: str) -> None:
    chosen = [
        one for one in operations(description) if mode == "POSITIVE" or list(one.body)
    ]  # others have no wrong way
    asked = [answers_follow(one, getattr(schemathesis.GenerationMode, mode)) for one in chosen]
    assert sum(asked) >= EXAMPLES


def answers_follow(operation: Any, mode: Any) -> int:
    """Asks one route, and holds each answer against the description; how many were asked."""
    described = schemathesis.specs.openapi.checks
    checks = [
        schemathesis.checks.not_a_server_error,
        described.status_code_conformance,
        described.content_type_conformance,
        described.response_schema_conformance,
    ]
    asked = 0

    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate],
        derandomize=True,
    )  # fmt: skip
    @given(operation.as_strategy(generation_mode=mode))
    def follows(case: Any) -> None:
        nonlocal asked
        answer = case.call()
        asked += 1
        if answer.status_code != UNAVAILABLE:
            case.validate_response(answer, checks=checks)

    follows()
    return asked
