"""The search for garbage is put off, and goes on afterwards as it was."""

import gc
from collections.abc import Iterator

import pytest

from openwork.base.collection import no_collection


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_off_within_and_then_as_it_was(enabled: bool):
    (gc.enable if enabled else gc.disable)()
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled() == enabled


def test_what_was_made_within_is_not_looked_at_again():
    with no_collection():
        made = [[number] for number in range(1000)]
    assert not any(one is made for one in gc.get_objects())


def test_an_error_within_turns_it_on_again():
    with pytest.raises(KeyError), no_collection():
        raise KeyError
    assert gc.isenabled()
