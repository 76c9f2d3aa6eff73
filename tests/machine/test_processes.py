"""Processes that meet, and what they tell one another: by oneself, and two of them for real."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
import torch

from distributed.starting import environment, free_port, results
from openwork.base.errors import OpenworkError
from openwork.machine.launcher import is_first, is_first_here, is_launched
from openwork.machine.processes import ALONE, BUCKET, buckets, join


def test_alone_nothing_is_sent() -> None:
    tensor = torch.tensor([1.0, 2.0])
    ALONE.add_up([tensor])
    ALONE.spread([tensor], 0)
    assert tensor.tolist() == [1.0, 2.0] and ALONE.summed(tensor) is tensor
    assert ALONE.gather({"a": 1}) == [{"a": 1}] and ALONE.from_first("x") == "x" and ALONE.total(1, 2.5) == [1.0, 2.5]
    assert ALONE.part([1, 2, 3]) == [1, 2, 3] and ALONE.is_first and ALONE.apart() is ALONE
    ALONE.done("nothing")
    with ALONE.together():
        pass


def test_without_a_launcher_a_process_is_alone() -> None:
    assert join(lambda error: None, {}) is ALONE
    assert not is_launched({}) and is_first({}) and is_first_here({})
    second = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1", "LOCAL_RANK": "0"}
    assert is_launched(second) and not is_first(second) and is_first_here(second)
    assert not is_first_here({**second, "LOCAL_RANK": "1"})


def test_buckets_hold_neighbours_of_one_type_up_to_a_size() -> None:
    small, wide = torch.zeros(3), torch.zeros(2, dtype=torch.float64)
    large = torch.zeros(BUCKET // 4 + 1)
    found = list(buckets([small, small, wide, small, large, small]))
    assert [[one.numel() for one in bucket] for bucket in found] == [[3, 3], [2], [3], [large.numel()], [3]]
    assert list(buckets([])) == []


@pytest.mark.slow
@pytest.mark.parametrize("rank", ["0", "1"])
def test_an_address_where_nobody_comes_is_named(rank: str) -> None:
    port = free_port()
    there = {"RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with pytest.raises(OpenworkError, match=f"127.0.0.1:{port}: process {rank} of 2 cannot meet") as refused:
        join(lambda error: None, there, timedelta(seconds=1))
    assert refused.value.code == "E033" and refused.value.why


WORK = """
import json, torch
from openwork.machine.processes import join
processes = join(lambda error: None)
with processes.together():
    rank = processes.rank
    tensors = [torch.full((2,), 1.0 + rank), torch.tensor([[10.0 * rank]]), torch.tensor([rank], dtype=torch.float64)]
    processes.add_up(tensors)
    spread = [torch.full((2,), float(rank)), torch.tensor([float(rank)])]
    processes.spread(spread, 1)
    x = torch.tensor([1.0 + rank, 2.0], requires_grad=True)
    y = processes.summed(x * x)
    (y * torch.tensor([1.0, 10.0 * (rank + 1)])).sum().backward()
    processes.done("something")
    apart = processes.apart()
    print(json.dumps({
        "sums": [one.tolist() for one in tensors], "spread": [one.tolist() for one in spread],
        "gathered": processes.gather({"rank": rank, "text": "语" * rank}), "first": processes.from_first([rank, "x"]),
        "total": apart.total(rank, 0.5), "part": list(processes.part(range(5))), "summed": y.tolist(),
        "gradient": x.grad.tolist(),
    }))
"""


@pytest.mark.slow
def test_two_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work_of_two.py").write_text(WORK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", "")
    paths = os.pathsep.join((str(tmp_path), environment()["PYTHONPATH"]))
    monkeypatch.setattr("distributed.starting.SOURCES", Path(paths.split(os.pathsep)[1]))
    monkeypatch.setattr("distributed.starting.TESTS", tmp_path)
    for rank, (found,) in enumerate(results(2, ["work_of_two"])):
        assert found["sums"] == [[3.0, 3.0], [[10.0]], [1.0]]
        assert found["spread"] == [[1.0, 1.0], [1.0]]
        assert found["gathered"] == [{"rank": 0, "text": ""}, {"rank": 1, "text": "语"}]
        assert found["first"] == [0, "x"] and found["total"] == [1.0, 1.0]
        assert found["part"] == [[0, 2, 4], [1, 3]][rank]
        # y = x_0^2 + x_1^2 on both; what both make of y comes back: dL/dy = (1 + 1, 10 + 20)
        assert found["summed"] == [1.0 + 4.0, 4.0 + 4.0]
        assert found["gradient"] == [2.0 * 2.0 * (1.0 + rank), 30.0 * 2.0 * 2.0]
