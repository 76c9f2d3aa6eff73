"""One process as a pool, and what Ray is asked for before it is imported."""

import pytest

from openwork.base.errors import ConfigError, UsageError
from openwork.machine import ray_pool
from openwork.machine.available import cores
from openwork.machine.pool import OneProcess


def test_one_process_starts_once_and_works_in_turn():
    started: list[int] = []

    def start():
        started.append(1)
        return lambda item: 10 * item

    results = OneProcess().run(start, [1, 2, 3])
    assert started == []
    assert list(results) == [(1, 10), (2, 20), (3, 30)] and started == [1]
    assert list(OneProcess().run(start, [])) == []


def test_without_ray_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_pool, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="--on ray needs Ray, which is not installed") as refused:
        ray_pool.RayPool()
    assert refused.value.hint == "pip install ray (the extra scale)"


@pytest.mark.parametrize(
    "address", ["somewhere", "host:", ":6379", "host:99999", "http://host:80/", "ray://host:10001"]
)
def test_an_address_that_is_none_is_refused(address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_pool, "find_spec", lambda name: object())
    with pytest.raises(UsageError, match="no address of a cluster") as refused:
        ray_pool.RayPool(address=address)
    assert refused.value.code == "U102"


def test_the_address_is_that_of_the_option_or_of_the_job(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_pool, "find_spec", lambda name: object())
    monkeypatch.delenv(ray_pool.ADDRESS, raising=False)
    assert ray_pool.RayPool().address == "local"
    monkeypatch.setenv(ray_pool.ADDRESS, "10.0.0.1:6379")
    assert ray_pool.RayPool().address == "10.0.0.1:6379"
    assert ray_pool.RayPool(address="[::1]:6380").address == "[::1]:6380"


def test_this_process_may_use_a_core():
    assert cores() >= 1
