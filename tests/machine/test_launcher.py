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


def test_where_all_were_killed_the_launcher_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.disable", lambda level: None)
    error = ChildFailedError("train", {0: failure(0, -9), 1: failure(1, -9)})
    monkeypatch.setattr(api, "elastic_launch", raising(error))
    with pytest.raises(OpenworkError, match="processes 0, 1 of this training were ended by signal 9"):
        launch(2, ["train", "copy"])
