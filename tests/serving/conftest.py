"""A running server of a small bundle, for the tests of a file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle
    from serving.running import RunningServer


@pytest.fixture(scope="module")
def tiny_server(tiny_bundle: "Bundle", tmp_path_factory: pytest.TempPathFactory) -> Iterator["RunningServer"]:
    """It serves the bundle `tiny` by one process."""
    from openwork.bundles.bundle import write_bundle
    from serving.running import running

    place = tmp_path_factory.mktemp("served") / "tiny"
    write_bundle(place, tiny_bundle)
    with running(place, workers=1) as started:
        yield started
