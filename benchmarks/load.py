"""A server under load: throughput, times, memory, and what it does when asked for three times what it can do.

    python benchmarks/load.py [BUNDLE TEXTS] [--seconds 20] [--soak MINUTES] [--no-peer] [--results results/load.json]

TEXTS has a source sentence a line; without both, a bundle of random weights is made (random_bundle.py). The server runs
in processes of its own, and so does what asks it, by connections that are kept. First what the library translates in a
second on the same cores, all texts at once, and how long a command of the shell takes for one; then 1, 8 and 64
clients, each of which asks for the next sentence as soon as it has the last one; then requests at random moments (open
loop), three times as many as were answered before. Each answer is compared with the library's for its text. Memory is
what the server's processes have alone and their parts of what they share. Then the same clients ask a plain server of
CTranslate2 with the same weights (peers/serve_ctranslate2.py), whose answers are compared with those that it gives to
each text alone, where that package is installed and a trained bundle is given: it has no length limit that follows the
source, as random weights need.

--soak asks instead at random moments, for so many minutes, half as often as 64 clients get answers, and says how much
more memory the processes have in the last sixth of the time than in the second; in the first, caches are filled.
"""

import argparse
import asyncio
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, median, quantiles
from typing import Any

import torch
import uvloop

import openwork

sys.path.insert(0, str(Path(__file__).parent))
import random_bundle

from machine import describe_machine
from openwork.base.files import atomic_write_text
from openwork.machine.available import cores

RESULTS = Path(__file__).resolve().parent / "results" / "load.json"
CLIENTS = (1, 8, 64)
OVERLOAD = 3.0
TOO_MUCH_SECONDS = 10.0  # of the same before a soak
COMMANDS = 21  # that translate one sentence each
BEAM = 5  # of CTranslate2; the recipes' bundles have it too
RECOVERED = 1.5  # times a lone request's usual time
LONGEST = 100_000  # characters of a line of the server's log
PEER = Path(__file__).resolve().parent / "peers" / "serve_ctranslate2.py"
TICKS = os.sysconf("SC_CLK_TCK")
SOAK_SHARE = 0.5  # of what 64 clients get answered
PARTS = 6  # of a soak, of which the second and the last are compared: in the first caches are filled


class Connection:
    """A connection to a server that is kept, as clients do; one that was closed meanwhile is made anew."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, text: str) -> tuple[int, str]:
        """The status of the answer, and the translation."""
        if self.streams:
            try:
                return await self._asked(text, *self.streams)
            except (asyncio.IncompleteReadError, ConnectionError):
                self.close()
        self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        return await self._asked(text, *self.streams)

    async def _asked(self, text: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[int, str]:
        body = json.dumps({"text": text}).encode()
        writer.write(
            b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        content = await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
        if b"connection: close" in head:
            self.close()
        status = int(head.split()[1])
        return status, json.loads(content)["translations"][0]["text"] if status == 200 else ""

    def close(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None


async def ask(port: int, text: str) -> tuple[int, str]:
    """The status of the answer, and the translation, by a connection of its own."""
    connection = Connection(port)
    try:
        return await connection.ask(text)
    finally:
        connection.close()


class Load:
    """Requests to a server, and what became of them."""

    def __init__(self, port: int, expected: dict[str, str]) -> None:
        self.port, self.expected, self.texts = port, expected, list(expected)
        self.seconds: list[float] = []
        self.refused_seconds: list[float] = []
        self.late = 0  # not answered within the server's time for a request
        self.wrong = 0

    async def one(self, number: int, connection: Connection) -> None:
        text = self.texts[number % len(self.texts)]
        started = time.perf_counter()
        status, found = await connection.ask(text)
        taken = time.perf_counter() - started
        if status == 503:
            self.late += 1
        else:
            (self.seconds if status == 200 else self.refused_seconds).append(taken)
            self.wrong += status not in (200, 429) or (status == 200 and found != self.expected[text])

    async def closed(self, clients: int, seconds: float) -> None:
        """Clients that ask again as soon as they have an answer."""
        end, first = time.perf_counter() + seconds, random.Random(clients).randrange(len(self.texts))

        async def client(number: int) -> None:
            connection = Connection(self.port)
            while time.perf_counter() < end:
                await self.one(number, connection)
                number += clients
            connection.close()

        await asyncio.gather(*(client(first + number) for number in range(clients)))

    async def open(self, rate: float, seconds: float) -> None:
        """Requests at random moments, whatever becomes of those before."""
        chosen, asked, started = random.Random(1), [], time.perf_counter()
        free: list[Connection] = []
        at = 0.0

        async def one(number: int) -> None:
            connection = free.pop() if free else Connection(self.port)
            await self.one(number, connection)
            free.append(connection)

        while at < seconds:
            at += chosen.expovariate(rate)
            await asyncio.sleep(max(0.0, started + at - time.perf_counter()))
            asked.append(asyncio.ensure_future(one(len(asked))))
        await asyncio.gather(*asked)
        for connection in free:
            connection.close()

    def summary(self, seconds: float) -> dict[str, Any]:
        """Times in milliseconds."""
        cut = [1000 * one for one in quantiles(self.seconds, n=100)] if len(self.seconds) > 1 else [float("nan")] * 99
        found = {
            "answered": len(self.seconds), "refused": len(self.refused_seconds), "late": self.late,
            "wrong": self.wrong,
            "answers_a_second": len(self.seconds) / seconds, "p50": cut[49], "p95": cut[94], "p99": cut[98],
        }  # fmt: skip
        if len(self.refused_seconds) > 1:
            refused = [1000 * one for one in quantiles(self.refused_seconds, n=100)]
            found |= {"refused_p50": refused[49], "refused_p99": refused[98]}
        return found | ({"refused_longest": 1000 * max(self.refused_seconds)} if self.refused_seconds else {})


def processes_of(parent: int) -> list[int]:
    found = Path(f"/proc/{parent}/task/{parent}/children").read_text("ascii").split()
    return [parent, *(one for child in found for one in processes_of(int(child)))]


def megabytes(parent: int) -> float:
    """The proportional set size of a process and its children."""
    lines = [
        line
        for one in processes_of(parent)
        for line in Path(f"/proc/{one}/smaps_rollup").read_text("ascii").splitlines()
        if line.startswith("Pss:")
    ]
    return sum(int(line.split()[1]) for line in lines) / 1024


def cpu_seconds(parent: int) -> tuple[float, float]:
    """Of the process that speaks HTTP, and of those that it started."""
    times = []
    for one in processes_of(parent):
        parts = Path(f"/proc/{one}/stat").read_text("ascii").rpartition(")")[2].split()
        times.append((int(parts[11]) + int(parts[12])) / TICKS)
    return times[0], sum(times[1:])


async def recovery(load: Load, usual: float, patience: float = 30.0) -> float:
    """Seconds until a lone request takes about as long as usual again."""
    started = time.perf_counter()
    while time.perf_counter() - started < patience:
        before = time.perf_counter()
        status, _ = await ask(load.port, load.texts[0])
        if status == 200 and time.perf_counter() - before < RECOVERED * usual:
            return time.perf_counter() - started
    return float("nan")


async def by_clients(port: int, server: int, expected: dict[str, str], clients: int, seconds: float) -> dict[str, Any]:
    """What so many clients get in a closed loop; CPU time in milliseconds an answer."""
    load, started, before = Load(port, expected), time.perf_counter(), cpu_seconds(server)
    await load.closed(clients, seconds)
    found, after = load.summary(time.perf_counter() - started), cpu_seconds(server)
    http, workers = (1000 * (end - start) / max(len(load.seconds), 1) for start, end in zip(before, after, strict=True))
    found |= {"megabytes": megabytes(server), "cpu_http": http, "cpu_workers": workers}
    print(clients, found, file=sys.stderr, flush=True)
    return found


async def measure(port: int, server: int, expected: dict[str, str], seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {"clients": {}}
    for clients in CLIENTS:
        found["clients"][str(clients)] = await by_clients(port, server, expected, clients, seconds)
    load, started = Load(port, expected), time.perf_counter()
    await load.open(OVERLOAD * found["clients"]["64"]["answers_a_second"], seconds)
    taken = time.perf_counter() - started
    usual = found["clients"]["1"]["p95"] / 1000
    found["overload"] = load.summary(taken) | {
        "megabytes": megabytes(server), "recovery_seconds": await recovery(load, usual),
    }  # fmt: skip
    return found


async def soak(port: int, server: int, expected: dict[str, str], minutes: float) -> dict[str, Any]:
    """The server's memory each minute, or more often where that would be fewer than two looks at each part.

    First it is asked too much, so that its largest batches are behind it: a process keeps the memory that they took.
    """
    usual = await by_clients(port, server, expected, CLIENTS[-1], 5.0)
    await Load(port, expected).open(OVERLOAD * usual["answers_a_second"], TOO_MUCH_SECONDS)
    load, seen, between = Load(port, expected), [], min(60.0, 60 * minutes / (2 * PARTS))
    rate = SOAK_SHARE * usual["answers_a_second"]
    asking = asyncio.ensure_future(load.open(rate, 60 * minutes))
    started = time.perf_counter()
    while not asking.done():
        await asyncio.wait({asking}, timeout=between)
        seen.append({"seconds": time.perf_counter() - started, "megabytes": megabytes(server)})
        print(seen[-1], file=sys.stderr, flush=True)
    await asking
    size = max(1, len(seen) // PARTS)
    first, second, last = (
        fmean(one["megabytes"] for one in part) for part in (seen[:size], seen[size : 2 * size], seen[-size:])
    )
    return load.summary(60 * minutes) | {
        "rate": rate, "memory": seen, "first": first, "second": second, "last": last, "growth": last / second - 1,
    }  # fmt: skip


async def peer(port: int, server: int, texts: list[str], seconds: float) -> dict[str, Any]:
    """What CTranslate2 gives to clients, each answer checked against that to its text alone."""
    alone = {text: (await ask(port, text))[1] for text in texts}
    return {str(clients): await by_clients(port, server, alone, clients, seconds) for clients in CLIENTS}


@contextmanager
def started_server(bundle: Path) -> Iterator[tuple[int, int]]:
    """openwork serve: its port and its process."""
    command = [sys.executable, "-m", "openwork", "serve", str(bundle), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"LC_ALL": "C"}) as server:
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline(LONGEST).partition(";")[0].rpartition(":")[2])
            reader = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
            yield port, server.pid
        finally:
            server.terminate()
    reader.wait()


@contextmanager
def started_peer(bundle: Path, folder: Path, beam: int) -> Iterator[tuple[int, int]]:
    """The server of CTranslate2 with the same weights: its port and its process."""
    export = [sys.executable, "-m", "openwork", "export", str(bundle), "--to", "ct2", "--out", str(folder / "ct2")]
    subprocess.run(export, check=True)
    command = [sys.executable, str(PEER), str(folder / "ct2"), str(beam), str(os.cpu_count())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline(LONGEST)), server.pid
        finally:
            server.terminate()


def by_library(bundle: Path, texts: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The library's translation of each text, and how fast it was on all cores, which the server has as well."""
    torch.set_num_threads(cores())
    translator = openwork.load(bundle)
    started = time.perf_counter()
    expected = {text: found.text for text, found in zip(texts, translator.translate(texts), strict=True)}
    together = len(texts) / (time.perf_counter() - started)
    times = []
    for text in texts[:50]:
        started = time.perf_counter()
        translator.translate(text)
        times.append(1000 * (time.perf_counter() - started))
    return expected, {"library_answers_a_second": together, "library_p95": quantiles(times, n=100)[94]}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, nargs="?")
    parser.add_argument("texts", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each load")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    parser.add_argument("--no-peer", action="store_true", help="leave CTranslate2 out")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if asked.bundle and not asked.texts:
        parser.error("give the file of texts too")
    return asked


def run(work: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """With uvloop: what asks shares the cores with the server, and should take little of them."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def from_the_shell(port: int, texts: list[str]) -> dict[str, float]:
    """Seconds of openwork translate --server for one sentence, each time a new process."""
    command = [sys.executable, "-m", "openwork", "translate", "--server", f"127.0.0.1:{port}"]
    times = []
    for text in texts[:COMMANDS]:
        started = time.perf_counter()
        subprocess.run(command, input=f"{text}\n".encode(), stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - started)
    return {"median": median(times), "longest": max(times)}


def main() -> None:
    asked = arguments()
    with tempfile.TemporaryDirectory() as place:
        is_given = asked.bundle is not None
        bundle, file = (asked.bundle, asked.texts) if is_given else random_bundle.make(Path(place))
        texts = list(dict.fromkeys(line for line in file.read_text("utf-8").splitlines() if line.strip()))
        expected, library = by_library(bundle, texts)
        result = {"machine": describe_machine(), "texts": len(texts), "random_weights": not is_given, **library}
        with started_server(bundle) as (port, process):
            if asked.soak:
                result["soak"] = run(soak(port, process, expected, asked.soak))
            else:
                result["shell_seconds"] = from_the_shell(port, texts)
                result |= run(measure(port, process, expected, asked.seconds))
                most = result["clients"][str(CLIENTS[-1])]["answers_a_second"]
                result["share_of_library"] = most / result["library_answers_a_second"]
        if is_given and find_spec("ctranslate2") and not asked.no_peer and not asked.soak:
            with started_peer(bundle, Path(place), BEAM) as (port, process):
                result["ctranslate2"] = run(peer(port, process, texts, asked.seconds))
        atomic_write_text(asked.results, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    gc.freeze()
    gc.set_threshold(100_000, 20, 10)  # what asks must not stop to look for garbage
    main()
