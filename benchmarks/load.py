"""A server under load: throughput, times, memory, and what it does when asked for three times what it can do.

    python benchmarks/load.py BUNDLE TEXTS [--seconds 20] [--results results/load.json]

TEXTS has a source sentence a line. The server runs in processes of its own, and so does what asks it. First what the
library translates in a second on the same cores, all texts at once; then 1, 8 and 64 clients, each of which asks for
the next sentence as soon as it has the last one; then requests at random moments (open loop), three times as many as
were answered before. Each answer is compared with the library's for its text. Memory is what the server's processes
have alone and their parts of what they share.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import quantiles
from typing import Any

import openwork

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.base.files import atomic_write_text

RESULTS = Path(__file__).resolve().parent / "results" / "load.json"
CLIENTS = (1, 8, 64)
OVERLOAD = 3.0
RECOVERED = 1.5  # times a lone request's usual time
LONGEST = 100_000  # characters of a line of the server's log


async def ask(port: int, text: str) -> tuple[int, str]:
    """The status of the answer, and the translation."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        body = json.dumps({"text": text}).encode()
        writer.write(
            b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        )
        head, _, content = (await reader.read()).partition(b"\r\n\r\n")
        status = int(head.split()[1])
        return status, json.loads(content)["translations"][0]["text"] if status == 200 else ""
    finally:
        writer.close()


class Load:
    """Requests to a server, and what became of them."""

    def __init__(self, port: int, expected: dict[str, str]) -> None:
        self.port, self.expected, self.texts = port, expected, list(expected)
        self.seconds: list[float] = []
        self.refused_seconds: list[float] = []
        self.wrong = 0

    async def one(self, number: int) -> None:
        text = self.texts[number % len(self.texts)]
        started = time.perf_counter()
        status, found = await ask(self.port, text)
        taken = time.perf_counter() - started
        (self.seconds if status == 200 else self.refused_seconds).append(taken)
        self.wrong += status not in (200, 429) or (status == 200 and found != self.expected[text])

    async def closed(self, clients: int, seconds: float) -> None:
        """Clients that ask again as soon as they have an answer."""
        end, first = time.perf_counter() + seconds, random.Random(clients).randrange(len(self.texts))

        async def client(number: int) -> None:
            while time.perf_counter() < end:
                await self.one(number)
                number += clients

        await asyncio.gather(*(client(first + number) for number in range(clients)))

    async def open(self, rate: float, seconds: float) -> None:
        """Requests at random moments, whatever becomes of those before."""
        chosen, asked, started = random.Random(1), [], time.perf_counter()
        at = 0.0
        while at < seconds:
            at += chosen.expovariate(rate)
            await asyncio.sleep(max(0.0, started + at - time.perf_counter()))
            asked.append(asyncio.ensure_future(self.one(len(asked))))
        await asyncio.gather(*asked)

    def summary(self, seconds: float) -> dict[str, Any]:
        """Times in milliseconds."""
        cut = [1000 * one for one in quantiles(self.seconds, n=100)] if len(self.seconds) > 1 else [float("nan")] * 99
        found = {
            "answered": len(self.seconds), "refused": len(self.refused_seconds), "wrong": self.wrong,
            "answers_a_second": len(self.seconds) / seconds, "p50": cut[49], "p95": cut[94], "p99": cut[98],
        }  # fmt: skip
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


async def recovery(load: Load, usual: float, patience: float = 30.0) -> float:
    """Seconds until a lone request takes about as long as usual again."""
    started = time.perf_counter()
    while time.perf_counter() - started < patience:
        before = time.perf_counter()
        status, _ = await ask(load.port, load.texts[0])
        if status == 200 and time.perf_counter() - before < RECOVERED * usual:
            return time.perf_counter() - started
    return float("nan")


async def measure(port: int, server: int, expected: dict[str, str], seconds: float) -> dict[str, Any]:
    found: dict[str, Any] = {"clients": {}}
    for clients in CLIENTS:
        load, started = Load(port, expected), time.perf_counter()
        await load.closed(clients, seconds)
        taken = time.perf_counter() - started
        found["clients"][str(clients)] = load.summary(taken) | {"megabytes": megabytes(server)}
        print(clients, found["clients"][str(clients)], file=sys.stderr, flush=True)
    load, started = Load(port, expected), time.perf_counter()
    await load.open(OVERLOAD * found["clients"]["64"]["answers_a_second"], seconds)
    taken = time.perf_counter() - started
    usual = found["clients"]["1"]["p95"] / 1000
    found["overload"] = load.summary(taken) | {
        "megabytes": megabytes(server), "recovery_seconds": await recovery(load, usual),
    }  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each load")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    texts = list(dict.fromkeys(line for line in asked.texts.read_text("utf-8").splitlines() if line.strip()))
    translator = openwork.load(asked.bundle)
    started = time.perf_counter()
    expected = {text: found.text for text, found in zip(texts, translator.translate(texts), strict=True)}
    together = len(texts) / (time.perf_counter() - started)
    times = []
    for text in texts[:50]:
        started = time.perf_counter()
        translator.translate(text)
        times.append(1000 * (time.perf_counter() - started))
    command = [sys.executable, "-m", "openwork", "serve", str(asked.bundle), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"LC_ALL": "C"}) as server:
        assert server.stderr is not None
        try:
            port = int(server.stderr.readline(LONGEST).partition(";")[0].rpartition(":")[2])
            reader = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
            found = asyncio.run(measure(port, server.pid, expected, asked.seconds))
        finally:
            server.terminate()
    reader.wait()
    result = {
        "machine": describe_machine(), "texts": len(texts), "library_answers_a_second": together,
        "library_p95": quantiles(times, n=100)[94], **found,
    }  # fmt: skip
    atomic_write_text(asked.results, json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
