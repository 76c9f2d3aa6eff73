"""Exported graphs on a phone's means and in a page: size, memory, speed and score, beside the bundle in openwork.

    python benchmarks/graphs.py NAME --corpus CORPUS --beam 1 --beam 5 LABEL=BUNDLE...

One core and one thread for all. examples/onnx/translate.py as a whole process with 512 MB of data at most; openwork in
a process that has loaded everything. In the page (where examples/onnx/node_modules and Chromium are): the first 50
sources one by one. Added to results/graphs.json.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import torch

from machine import add_result
from openwork.data.corpora.catalogue import load
from openwork.inference.translator import BatchTranslator
from openwork.interop.forms import export_model
from openwork.interop.onnx.running import Graph, differences
from openwork.metrics.translation import bleu
from openwork.runs.usable import usable_bundle

RESULTS = Path(__file__).parent / "results" / "graphs.json"
EXAMPLES = Path(__file__).parents[1] / "examples" / "onnx"
ROUNDS, ONE_BY_ONE, AT_ONCE = 2, 50, 64
MEGABYTE = 1_000_000
ON_A_PHONE = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_DATA, (512 << 20, 512 << 20))  # heap and private mappings
runpy.run_path(sys.argv.pop(1), run_name="__main__")
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("bundles", nargs="+")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--beam", type=int, action="append", required=True)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pairs = list(load(asked.corpus, "test"))
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    measured: dict[str, Any] = {}
    for label, _, path in (one.partition("=") for one in asked.bundles):
        for beam in asked.beam:
            with TemporaryDirectory(prefix="openwork-") as folder:
                graph = Path(folder) / "graph"
                bundle = export_model("onnx", usable_bundle(Path(path)), graph, beam=beam)
                found = _facts(graph, bundle, sources, references)
                found["page_milliseconds"] = _in_a_page(graph, sources[:ONE_BY_ONE])
            measured[f"{label}, beam {beam}"] = found
            print(label, beam, found, flush=True)
    beams = " ".join(f"--beam {beam}" for beam in asked.beam)
    labels = " ".join(one.partition("=")[0] for one in asked.bundles)
    command = f"python benchmarks/graphs.py {asked.name} --corpus {asked.corpus} {beams} {labels}"
    add_result(RESULTS, asked.name, command, {"sentences": len(sources), "graphs": measured})


def _facts(graph: Path, bundle: Any, sources: list[str], references: list[str]) -> dict[str, Any]:
    own, ours = [], []
    translator = BatchTranslator.of(bundle)
    translator.best(sources[:8])
    for _ in range(ROUNDS):
        seconds, megabytes, texts = _example(graph, sources)
        own.append(seconds)
        began = time.perf_counter()
        translator.best(sources)
        ours.append(time.perf_counter() - began)
    return {
        "megabytes": round((graph / "model.onnx").stat().st_size / MEGABYTE, 2),
        "bleu": round(bleu(texts, references, language=bundle.settings.target_language).value, 2),
        "others_than_openwork": _others(bundle, Graph(graph, threads=1), sources),
        "seconds": round(min(own), 2),
        "memory_megabytes": megabytes,
        "openwork_seconds": round(min(ours), 2),
    }


def _others(bundle: Any, graph: Graph, sources: list[str]) -> int:
    return sum(
        differences(bundle, graph, sources[first : first + AT_ONCE]) for first in range(0, len(sources), AT_ONCE)
    )


def _example(graph: Path, sources: list[str]) -> tuple[float, int, list[str]]:
    """Seconds of the whole process, its memory at most, and the translations."""
    command = [sys.executable, "-c", ON_A_PHONE, str(EXAMPLES / "translate.py"), str(graph)]
    began = time.perf_counter()
    done = subprocess.run(command, input="\n".join(sources), capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    return seconds, round(int(done.stderr.split()[-1]) * 1024 / MEGABYTE), done.stdout.removesuffix("\n").split("\n")


def _in_a_page(graph: Path, sources: list[str]) -> dict[str, float] | None:
    if not (EXAMPLES / "node_modules").is_dir() or find_spec("playwright") is None:
        return None
    from browsing import Watched, opened_browser
    from interop.test_onnx_examples import served

    times = []
    with served(graph.parent) as address, opened_browser() as browser:
        watched = Watched(browser, address, "#source:enabled", offline=False)
        for source in sources:
            watched.page.fill("#source", source)
            watched.page.click("#translate")
            watched.page.wait_for_function("!document.getElementById('translate').disabled")
            times.append(int(watched.page.locator("#state").text_content().split()[0]))
    return {"median": statistics.median(times), "worst": max(times)}


if __name__ == "__main__":
    main()
