"""What becomes of processes that a launcher has started, without starting any."""

import signal
from typing import Any

import pytest
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.launcher import api

from openwork.base.errors import OpenworkError
from openwork.machine.launcher import launch


def raising(error: Exception | None) -> Any:
    """In place of torch's launcher."""

    def elastic_launch(config: Any, entrypoint: str) -> Any:
        def run(*arguments: str) -> None:
            assert arguments[:2] == ("-m", "openwork") and config.nproc_per_node == 2
            if error is not None:
                raise error

        return run

    return elastic_launch


def failure(rank: int, code: int) -> ProcessFailure:
    return ProcessFailure(local_rank=rank, pid=1, exitcode=code, error_file="<N/A>")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 0),
        (SignalException("stopped", signal.SIGINT), 130),
        (SignalException("stopped", signal.SIGTERM), 143),
        (ChildFailedError("train", {0: failure(0, 3), 1: failure(1, -15)}), 3),
    ],
)
def test_the_exit_code(error: Exception | None, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.disable", lambda level: None)
    monkeypatch.setattr(api, "elastic_launch", raising(error))
    assert launch(2, ["train", "copy"]) == code


@pytest.mark.parametrize(
    ("codes", "sentence"),
    [
        ({0: -9, 1: -9}, "process 0 of this training was ended by signal 9"),
        ({1: -6, 0: -15}, "process 1 of this training was ended by signal 6"),  # torch has ended process 0
    ],
)
def test_where_all_were_killed_the_launcher_says_which_was_the_first(
    codes: dict[int, int], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order in which they ended; torch notes whole seconds."""
    monkeypatch.setattr("logging.disable", lambda level: None)
    monkeypatch.setattr("time.time", lambda: 1.0)
    error = ChildFailedError("train", {rank: failure(rank, code) for rank, code in codes.items()})
    monkeypatch.setattr(api, "elastic_launch", raising(error))
    with pytest.raises(OpenworkError, match=sentence):
        launch(2, ["train", "copy"])
