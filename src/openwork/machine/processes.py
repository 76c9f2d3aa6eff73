"""The processes of one training, and what they tell one another (`torch.distributed`).

They send sums of tensors and JSON; nothing that is received is unpickled. gloo carries what is on a CPU, NCCL what is
on a GPU. A process that ends ends the others too: `watch.py` sees to that.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store

from openwork.base.errors import OpenworkError
from openwork.machine.launcher import is_launched
from openwork.machine.watch import Watch

T = TypeVar("T")

BUCKET = 25 << 20  # bytes that are summed in one call, as in torch's DistributedDataParallel
JOINING = timedelta(minutes=5)  # until all processes have met
TOGETHER = timedelta(days=1)  # for one sum; that another process has ended is noticed by the watch


class Processes:
    """One of the `count` processes of a training; the one with `rank` 0 writes and reports. By itself: the only one."""

    rank = 0
    count = 1
    group: Any = None
    """torch's own object for them; None: all processes."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes and reports."""
        return self.rank == 0

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Each tensor becomes its sum over all processes, in place; all processes give tensors of the same shapes."""

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum of the tensors of all processes, with a gradient."""
        return tensor

    def spread(self, tensors: Sequence[Tensor], rank: int) -> None:
        """Each tensor becomes that of the process `rank`, in place."""

    def gather(self, value: Any) -> list[Any]:
        """A JSON value of each process, in the order of their ranks."""
        return [value]

    def done(self, name: str) -> None:
        """The first process says that something is done, for which the others wait, however long it takes."""

    def apart(self) -> "Processes":
        """The same processes over connections of their own, for a thread beside."""
        return self

    @contextmanager
    def together(self) -> Iterator[None]:
        """A context that all processes leave together, or end with an error: that of one is the end of all."""
        yield

    def total(self, *numbers: float | int) -> list[float]:
        """The sum of each number over all processes, in double precision."""
        sums = torch.tensor(numbers, dtype=torch.float64)
        self.add_up([sums])
        return sums.tolist()

    def from_first(self, value: Any) -> Any:
        """The JSON value of the first process."""
        return value

    def part(self, items: Sequence[T]) -> Sequence[T]:
        """This process's share: each item is in that of one process."""
        return items[self.rank :: self.count]


ALONE = Processes()


class JoinedProcesses(Processes):
    """Several processes that have met."""

    def __init__(self, rank: int, count: int, watch: Watch, group: dist.ProcessGroup | None = None) -> None:
        self.rank, self.count = rank, count
        self._watch, self.group = watch, group

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        self._in_buckets(tensors, dist.all_reduce)

    def summed(self, tensor: Tensor) -> Tensor:
        return _Summed.apply(tensor, self)

    def spread(self, tensors: Sequence[Tensor], rank: int) -> None:
        self._in_buckets(tensors, partial(dist.broadcast, src=rank))

    def _in_buckets(self, tensors: Sequence[Tensor], change: Callable[..., Any]) -> None:
        with self._watch.failures():
            for bucket in buckets(tensors):
                flat = bucket[0].reshape(-1) if len(bucket) == 1 else torch.cat([one.reshape(-1) for one in bucket])
                change(flat, group=self.group)
                for one, part in zip(bucket, flat.split([one.numel() for one in bucket]), strict=True):
                    if one.data_ptr() != part.data_ptr():
                        one.copy_(part.view_as(one))

    def gather(self, value: Any) -> list[Any]:
        mine = _as_bytes(value)
        with self._watch.failures():
            sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.count)]
            dist.all_gather(sizes, torch.tensor([len(mine)]), group=self.group)
            longest = int(max(sizes))
            rows = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.count)]
            dist.all_gather(rows, torch.nn.functional.pad(mine, (0, longest - len(mine))), group=self.group)
        return [_of_bytes(row[: int(size)]) for row, size in zip(rows, sizes, strict=True)]

    def from_first(self, value: Any) -> Any:
        sent = _as_bytes(value if self.is_first else None)
        size = torch.tensor([len(sent)])
        with self._watch.failures():
            dist.broadcast(size, 0, group=self.group)
            sent = sent if self.is_first else torch.zeros(int(size), dtype=torch.uint8)
            dist.broadcast(sent, 0, group=self.group)
        return _of_bytes(sent)

    def done(self, name: str) -> None:
        if self.is_first:
            self._watch.announce(name)
        else:
            self._watch.wait_for(name)  # not a sum, whose time is limited: preparing a corpus may take hours

    def apart(self) -> Processes:
        group = dist.new_group(backend="gloo")
        assert isinstance(group, dist.ProcessGroup), "every process is in it"
        return JoinedProcesses(self.rank, self.count, self._watch, group)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._watch.ending():
            yield
            self.total(0.0)
        self._watch.end()
        dist.destroy_process_group()


class _Summed(torch.autograd.Function):
    """A sum over processes: what each of them does with it comes back to each."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, processes: Processes) -> Tensor:
        ctx.processes = processes
        total = tensor.clone()
        processes.add_up([total])
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        total = gradients[0].clone()
        ctx.processes.add_up([total])
        return total, None


def buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Neighbours of one type and device, together of at most `BUCKET` bytes; a larger one is by itself."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        size = sum(one.nbytes for one in bucket) + tensor.nbytes
        alike = bucket and (bucket[0].dtype, bucket[0].device) == (tensor.dtype, tensor.device)
        if bucket and (size > BUCKET or not alike):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


def _as_bytes(value: Any) -> Tensor:
    return torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)


def _of_bytes(sent: Tensor) -> Any:
    return json.loads(sent.numpy().tobytes())


def join(
    end: Callable[[OpenworkError | None], None],
    environment: Mapping[str, str] = os.environ,
    joining: timedelta = JOINING,
) -> Processes:
    """Meets the other processes of the training that a launcher has started; `ALONE` where there is no launcher.

    `end` is called in a thread of its own when another process has ended: it ends this process, and shows the error
    first, if it is given one. OpenworkError for an address that cannot be reached.
    """
    if not is_launched(environment):
        return ALONE
    rank, count = int(environment["RANK"]), int(environment["WORLD_SIZE"])
    host, port = environment["MASTER_ADDR"], int(environment["MASTER_PORT"])
    hosts_store = rank == 0 and environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    attempt = f"openwork/{environment.get('TORCHELASTIC_RESTART_COUNT', '0')}"

    def store(is_host: bool) -> Store:
        connection = dist.TCPStore(host, port, is_master=is_host, timeout=joining, wait_for_workers=False)
        return PrefixStore(attempt, connection)

    try:
        own, watching = store(hosts_store), store(False)
        _meet(own, count, joining)
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        group = PrefixStore("group", own)
        dist.init_process_group(backend, store=group, rank=rank, world_size=count, timeout=TOGETHER)
    except (dist.DistError, RuntimeError, ValueError, TimeoutError) as error:
        raise OpenworkError(
            f"{host}:{port}: process {rank} of {count} cannot meet the others there",
            why=(str(error).splitlines() or [""])[0],
            hint="start every process with the same --rdzv-endpoint, and open that port between the machines",
            code="E033",
        ) from error
    return JoinedProcesses(rank, count, Watch(rank, count, own, watching, end))


def _meet(store: Store, count: int, joining: timedelta) -> None:
    """Waits until all processes are there. TimeoutError says how many are."""
    met, until = store.add("met", 1), time.monotonic() + joining.total_seconds()
    while met < count:
        if time.monotonic() > until:
            raise TimeoutError(f"{met} of {count} came within {joining.total_seconds():g} seconds")
        time.sleep(0.1)
        met = store.add("met", 0)
