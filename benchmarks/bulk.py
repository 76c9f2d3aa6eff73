"""How fast a folder of shards is translated: by the single-machine command, and by one and two workers of Ray.

    python benchmarks/bulk.py --bundle en-de --source test.en

writes benchmarks/results/bulk.json. The shards are the sentences of the file, in order and repeated, so many as wanted.
Each figure is the fastest of several passes, each a command of its own; the files of all ways must be equal, byte for
byte. `command_seconds` include the start of Python, of Ray and of its workers; `working_seconds` begin with the
first shard and end with the last, by the record. The goal is a ratio of 1.7 of two workers to one, on two cores.

    python benchmarks/bulk.py --prepare tatoeba-en-de multi30k-en-de python-docs-en-zh

adds what each step of `openwork data prepare` takes of a processor: only what follows the reading is divided among
workers. These are seconds of the processor, which other processes hardly change.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from machine import describe_machine
from openwork.base.files import read_lines, sha256_file
from openwork.data.corpora import catalogue
from openwork.data.corpora.prepare import CorpusRange, write_range
from openwork.data.filters import FilterSettings, apply
from openwork.inference.bulk.record import NAME

RESULTS = Path(__file__).parent / "results" / "bulk.json"
WAYS = {
    "single command": (),
    "ray, 1 worker": ("--on", "ray", "--workers", "1"),
    "ray, 2 workers": ("--on", "ray", "--workers", "2"),
}


def write_shards(folder: Path, source: Path, shards: int, lines: int) -> None:
    """So many files of so many lines each."""
    folder.mkdir()
    endless = cycle(list(read_lines(source)))
    for number in range(shards):
        text = "".join(f"{line}\n" for line in islice(endless, lines))
        (folder / f"{number:04}.txt").write_text(text, encoding="utf-8")


def finished(out: Path) -> Iterator[dict[str, Any]]:
    """The records of finished shards."""
    records = map(json.loads, (out / NAME).read_text(encoding="utf-8").splitlines())
    return (record for record in records if record["kind"] == "finished")


def translate(bundle: Path, folder: Path, out: Path, options: tuple[str, ...], more: list[str]) -> dict[str, Any]:
    """One pass: the figures of the report and of the record."""
    command = [sys.executable, "-m", "openwork", "translate", str(bundle), "--source", str(folder), "--out", str(out)]
    start = time.perf_counter()
    subprocess.run([*command, *options, *more], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    whole = time.perf_counter() - start
    records = list(finished(out))
    working = max(one["time"] for one in records) - min(one["time"] - one["seconds"] for one in records)
    lines = sum(one["lines"] for one in records)
    return {
        "lines": lines,
        "command_seconds": round(whole, 2),
        "working_seconds": round(working, 2),
        "lines_per_second": round(lines / working, 1),
        "lines_per_second_of_the_command": round(lines / whole, 1),
    }


def measure_translation(options: argparse.Namespace) -> dict[str, Any]:
    """All ways in turn, several times, so that a change of the machine's pace concerns all of them."""
    best: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "shards")
        write_shards(folder, options.source, options.shards, options.lines)
        sums: set[tuple[str, ...]] = set()
        for number in range(options.passes):
            for name, way in WAYS.items():
                out = Path(place, f"{name} {number}")
                found = translate(options.bundle, folder, out, way, options.options.split())
                sums.add(tuple(sha256_file(out / path.name) for path in sorted(folder.iterdir())))
                if name not in best or found["working_seconds"] < best[name]["working_seconds"]:
                    best[name] = found
    if len(sums) != 1:
        raise SystemExit("the ways have written different files")
    ratio = best["ray, 2 workers"]["lines_per_second"] / best["ray, 1 worker"]["lines_per_second"]
    return {
        "bundle": options.bundle.name,
        "shards": options.shards,
        "lines_a_shard": options.lines,
        "passes": options.passes,
        "options": options.options,
        "ways": best,
        "two_workers_to_one": round(ratio, 3),
        "same_bytes": True,
    }


def measure_preparation(name: str, passes: int = 3) -> dict[str, Any]:
    """Seconds of the processor for reading the training pairs of a corpus, filtering and writing them."""
    best: dict[str, float] = {}  # each with what goes before it
    count = 0
    with tempfile.TemporaryDirectory() as place:
        files = Path(place, "source"), Path(place, "target")
        whole = CorpusRange(name, "train", None, FilterSettings(), (0, None), files)
        for _ in range(passes):
            start = time.process_time()
            count = sum(1 for _ in catalogue.load(name, "train"))
            read = time.process_time()
            for _ in apply(catalogue.load(name, "train"), FilterSettings())[0]:
                pass
            filtered = time.process_time()
            write_range(whole)
            written = time.process_time()
            for key, value in (("read", read - start), ("filter", filtered - read), ("write", written - filtered)):
                best[key] = min(value, best.get(key, value))
    steps = {
        "reading": best["read"],
        "filtering": best["filter"] - best["read"],
        "writing": best["write"] - best["filter"],
    }
    share = steps["reading"] / sum(steps.values())
    return {
        "pairs": count,
        "processor_seconds": {key: round(value, 3) for key, value in steps.items()},
        "share_of_reading": round(share, 3),
        "at_most_with_two_workers": round(1 / (share + (1 - share) / 2), 2),
        "at_most_with_any_number": round(1 / share, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--options", default="", help='of openwork translate, such as "--beam 4"')
    parser.add_argument("--prepare", nargs="*", default=[], metavar="CORPUS")
    options = parser.parse_args()
    result: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if options.bundle is not None:
        result["translation"] = {"machine": describe_machine(), **measure_translation(options)}
    if options.prepare:
        corpora = {name: measure_preparation(name) for name in options.prepare}
        result["preparation"] = {"machine": describe_machine(), "corpora": corpora}
    RESULTS.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
