"""Real workers of Ray on this machine: order, deaths, errors, and nothing left at the end."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from openwork.base.errors import DataError, OpenworkError
from openwork.machine import ray_pool
from openwork.machine.ray_pool import RayPool

pytestmark = [
    pytest.mark.slow,
    # not `importorskip`: Ray must not be imported before its environment is set
    pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra scale"),
]


@pytest.fixture(autouse=True)
def nothing_left(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process stays, and Ray has printed nothing: only our own notices are there."""
    monkeypatch.delenv(ray_pool.ADDRESS, raising=False)
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    _, alive = psutil.wait_procs(left, timeout=60)
    assert alive == []
    printed = capfd.readouterr()
    assert printed.out == ""
    assert set(printed.err.splitlines()) <= {"a worker of Ray died; another does its work"}


def work_or_die(folder: Path, item: str) -> str:
    """Kills its own process at the item "deadly", and at "once" the first time; notes each item that it finishes."""
    mark = folder / "killed"
    if item == "deadly" or (item == "once" and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    with (folder / "done").open("a") as file:
        file.write(f"{item}\n")
    return item.upper()


def start(folder: Path) -> Callable[[str], str]:
    return partial(work_or_die, folder)


def test_the_item_of_a_killed_worker_is_done_by_another(tmp_path: Path):
    """Each item is finished once. One at which three workers die is given up, and the others are done."""
    items = ["a", "once", "b", "c", "deadly", "d", "e"]
    results = list(RayPool(workers=2).run(partial(start, tmp_path), items))
    assert (tmp_path / "killed").exists()
    assert len(results) == len(items)
    found = dict(results)
    error = found.pop("deadly")
    assert found == {item: item.upper() for item in items if item != "deadly"}
    assert sorted((tmp_path / "done").read_text().split()) == sorted(found)
    assert isinstance(error, OpenworkError) and error.code == "E041"
    assert "3 workers died at the same task" in error.what and error.why and "\n" not in error.why


def start_deadly() -> Callable[[int], int]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@pytest.mark.long  # `make distributed` has it
def test_workers_that_die_before_they_begin_end_the_run():
    with pytest.raises(OpenworkError, match="workers of Ray die at their start") as refused:
        list(RayPool(workers=1).run(start_deadly, [1]))
    assert refused.value.code == "E040"


def refuse(item: int) -> int:
    raise DataError(f"{item}: no good", why="it is odd", hint="give another", code="D999")


@pytest.mark.long
def test_an_error_of_the_function_is_raised_here():
    with pytest.raises(DataError, match="1: no good") as refused:
        list(RayPool(workers=1).run(lambda: refuse, [1]))
    assert type(refused.value) is DataError
    assert (refused.value.why, refused.value.hint, refused.value.code) == ("it is odd", "give another", "D999")


@pytest.mark.long
def test_a_caller_may_stop_early(tmp_path: Path):
    results = RayPool(workers=1).run(partial(start, tmp_path), ["a", "b", "c"])
    assert next(results) == ("a", "A")
    results.close()


def test_no_items_start_no_ray():
    assert list(RayPool().run(start_deadly, [])) == []


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_an_address_where_nothing_answers():
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(OpenworkError, match=f"{address}: no cluster of Ray can be reached there") as refused:
        list(RayPool(address=address).run(start_deadly, [1]))
    assert refused.value.code == "E039" and "refused" in refused.value.why


def test_an_address_where_something_else_answers(monkeypatch: pytest.MonkeyPatch):
    """Ray itself would try again and again."""
    monkeypatch.setattr(ray_pool, "PATIENCE", 5.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = threading.Thread(target=lambda: server.accept(), daemon=True)
        accepted.start()
        with pytest.raises(OpenworkError, match="no cluster of Ray can be reached there") as refused:
            list(RayPool(address=f"127.0.0.1:{server.getsockname()[1]}").run(start_deadly, [1]))
    assert refused.value.why == "something answers there, but not as Ray does"
