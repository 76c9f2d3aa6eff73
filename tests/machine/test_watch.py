"""The end of a process is noticed by the others, which end too; here they are watches in one process."""

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest
import torch.distributed as dist

from openwork.base.errors import OpenworkError
from openwork.machine import watch
from openwork.machine.watch import Watch


class Ends:
    """What each watch says to its process, by rank."""

    def __init__(self) -> None:
        self.heard: dict[int, OpenworkError | None] = {}

    def of(self, rank: int):
        def end(error: OpenworkError | None) -> None:
            self.heard.setdefault(rank, error)

        return end

    def wait(self, ranks: set[int]) -> None:
        until = time.monotonic() + 60
        while not ranks <= self.heard.keys():
            assert time.monotonic() < until, self.heard
            time.sleep(0.01)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Ends, list[Watch]]]:
    for name, seconds in (("BEAT", 0.02), ("SILENCE", 3.0), ("SUSPICION", 0.5), ("GRACE", 0.05)):
        monkeypatch.setattr(watch, name, seconds)
    store, ends = dist.HashStore(), Ends()
    watches = [Watch(rank, 3, store, store, ends.of(rank)) for rank in range(3)]
    yield ends, watches
    for one in watches:
        one._stopped.set()


@pytest.mark.slow
def test_who_is_silent_has_ended_and_one_says_so(three: tuple[Ends, list[Watch]]) -> None:
    ends, watches = three
    watches[0]._stopped.set()  # killed: no beat any more
    ends.wait({1, 2})
    said = ends.heard[1]
    assert said is not None and said.code == "E035" and "process 0 of 3 has ended" in said.what
    assert ends.heard[2] is None  # one sentence


@pytest.mark.slow
def test_who_waits_in_vain_asks_sooner(three: tuple[Ends, list[Watch]], monkeypatch: pytest.MonkeyPatch) -> None:
    ends, watches = three
    monkeypatch.setattr(watch, "SILENCE", 1000.0)
    watches[2]._stopped.set()

    def broken() -> None:
        with contextlib.suppress(OpenworkError), watches[0].failures():
            raise RuntimeError("Connection closed by peer")

    threading.Thread(target=broken, daemon=True).start()
    ends.wait({0, 1})
    said = ends.heard[0]
    assert said is not None and "process 2 " in said.what


def test_an_error_of_one_ends_all_and_is_shown_once(three: tuple[Ends, list[Watch]]) -> None:
    ends, watches = three
    with pytest.raises(OpenworkError, match="a bad file"), watches[1].ending():
        raise OpenworkError("a bad file")
    with pytest.raises(SystemExit) as silent, watches[2].ending():
        raise OpenworkError("a bad file")
    assert silent.value.code == OpenworkError.exit_code
    ends.wait({0, 1, 2})
    assert set(ends.heard.values()) == {None}


def test_the_first_ends_last(three: tuple[Ends, list[Watch]], monkeypatch: pytest.MonkeyPatch) -> None:
    """The others ask its store who has failed first; without it both would show the error."""
    _, watches = three
    for name in ("GRACE", "SILENCE"):
        monkeypatch.setattr(watch, name, 1000.0)

    def failing(rank: int) -> None:
        with contextlib.suppress(SystemExit, OpenworkError), watches[rank].ending():
            raise OpenworkError("a bad file")

    first = threading.Thread(target=failing, args=(0,), daemon=True)
    first.start()
    for rank in (1, 2):
        time.sleep(0.1)
        assert first.is_alive()
        failing(rank)
    first.join(60)
    assert not first.is_alive()


@pytest.mark.slow
def test_a_broken_connection_between_living_processes_is_an_error(
    three: tuple[Ends, list[Watch]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, watches = three
    monkeypatch.setattr(watch, "SILENCE", 0.0)
    monkeypatch.setattr(watch, "SUSPICION", 0.4)
    with pytest.raises(OpenworkError, match="the connection between the processes") as broken, watches[0].failures():
        raise RuntimeError("no route to host")
    assert broken.value.code == "E034" and broken.value.why == "no route to host"


def test_who_waits_goes_on_when_it_is_announced(three: tuple[Ends, list[Watch]]) -> None:
    _, watches = three
    waiting = threading.Thread(target=watches[1].wait_for, args=("corpus",), daemon=True)
    waiting.start()
    assert waiting.is_alive()
    watches[0].announce("corpus")
    waiting.join(60)
    assert not waiting.is_alive()


def test_a_store_that_is_gone_ends_all(three: tuple[Ends, list[Watch]], monkeypatch: pytest.MonkeyPatch) -> None:
    ends, watches = three

    def gone() -> None:
        raise RuntimeError("Connection reset by peer")

    for one in watches:
        monkeypatch.setattr(one, "_look", gone)
    ends.wait({0, 1, 2})
    said = ends.heard[0]
    assert said is not None and said.what.startswith("what started the processes of this training has ended")
