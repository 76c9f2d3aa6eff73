"""How fast a bundle translates: the model as it is, and prepared in each of its ways, by workers and batch sizes.

    python benchmarks/translating.py --bundle en-de --source test.en --reference test.de --shortlist en-de.shortlist

writes benchmarks/results/translating.json. Each figure is the fastest of several passes over all sentences, text to
text; a latency is that of one sentence at a time. What was tried and did not pay stands under "not_paid".
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from machine import describe_machine
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.data.readers.lines import read_parallel
from openwork.data.records import Pair
from openwork.decoding.scoring import highest, log_normaliser, most_probable_tokens
from openwork.inference import engine
from openwork.inference import translator as translating
from openwork.inference.prepared.caches import attend_to_past
from openwork.inference.prepared.products import PRODUCTS, available
from openwork.inference.shortlists import Shortlist, read_shortlist
from openwork.inference.translator import BatchTranslator
from openwork.metrics.translation import lowercased_bleu

RESULTS = Path(__file__).parent / "results" / "translating.json"
AS_IT_IS = "the model itself, float32"
LEAST_BATCHES, NEVER = engine.BATCHES_EACH, 1 << 30


@dataclass(frozen=True)
class Way:
    """One way to translate."""

    name: str
    beam: int
    workers: int = 2
    batch_tokens: int = translating.BATCH_TOKENS
    processes: bool = True  # where there are several workers; else threads
    shortlist: bool = False


def ways() -> Iterator[Way]:
    """All that are measured."""
    for beam in (1, 5):
        yield Way(AS_IT_IS, beam)
        yield from (Way(kind, beam, workers) for kind in available() for workers in (1, 2))
        if "int8" in available():
            yield Way("int8", beam, processes=False)
            yield from (Way("int8", beam, shortlist=True, workers=workers) for workers in (1, 2))
            yield from (Way("int8", beam, batch_tokens=size) for size in (2048, 8192))


def translator(bundle: Bundle, way: Way, shortlist: Shortlist | None) -> BatchTranslator:
    """The bundle's translator in this way."""
    torch.set_num_threads(way.workers)
    engine.BATCHES_EACH = LEAST_BATCHES if way.processes else NEVER
    decoding = bundle.settings.decoding.model_copy(update={"beam": way.beam})
    precision: Any = "float32" if way.name == AS_IT_IS else way.name
    chosen = shortlist if way.shortlist else None
    made = BatchTranslator(bundle.model, bundle.tokenizers, decoding, precision=precision, shortlist=chosen)
    if way.name == AS_IT_IS:
        made.engine.is_prepared = False
    return made


def measure(bundle: Bundle, way: Way, made: BatchTranslator, test: list[Pair], passes: int) -> dict[str, object]:
    """Sentences a second and lc-BLEU of one way."""
    translating.BATCH_TOKENS = way.batch_tokens
    sources, references = [pair.source for pair in test], [pair.target for pair in test]
    made.best(sources[:20])
    seconds, found = [], []
    for _ in range(passes):
        before = time.perf_counter()
        found = made.best(sources)
        seconds.append(time.perf_counter() - before)
    return asdict(way) | {
        "sentences_per_second": round(len(sources) / min(seconds), 1),
        "lc_bleu": round(lowercased_bleu(found, references, language=bundle.settings.target_language or "en").value, 2),
    }


def latency(way: Way, made: BatchTranslator, sources: list[str]) -> dict[str, object]:
    """Milliseconds of one sentence at a time."""
    made.best(sources[:5])
    taken = []
    for source in sources:
        before = time.perf_counter()
        made.best([source])
        taken.append(1000 * (time.perf_counter() - before))
    ninety_fifth = sorted(taken)[int(0.95 * len(taken))]
    return asdict(way) | {"p50_ms": round(statistics.median(taken), 2), "p95_ms": round(ninety_fifth, 2)}


def microseconds(work: Callable[[], object], passes: int = 100) -> float:
    """The fastest of many passes."""
    taken = []
    for _ in range(passes):
        before = time.perf_counter()
        work()
        taken.append(time.perf_counter() - before)
    return round(1e6 * min(taken), 1)


@torch.inference_mode()
def parts() -> dict[str, float]:
    """Microseconds of single steps on one core: 128 rows and their logits over a vocabulary of 4,000."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x, logits = torch.randn(128, 256), torch.randn(128, 4000)
    found = {}
    for kind in available():
        for outputs in (256, 1024, 4000):
            product = PRODUCTS[kind](torch.randn(outputs, 256) / 16, torch.randn(outputs))
            found[f"product 256 to {outputs}, {kind}"] = microseconds(lambda product=product: product(x))
    found["logsumexp"] = microseconds(lambda: logits.logsumexp(-1))
    found["log_normaliser"] = microseconds(lambda: log_normaliser(logits))
    found["max"] = microseconds(lambda: logits.max(-1))
    found["most_probable_tokens"] = microseconds(lambda: most_probable_tokens(logits))
    found["topk, 11"] = microseconds(lambda: logits.topk(11))
    found["highest, 11"] = microseconds(lambda: highest(logits, 11))
    for positions in (5, 10, 20):
        query, past = torch.randn(128, 256), torch.randn(2, positions, 128, 256)
        heads = [side.unflatten(-1, (4, 64)).permute(1, 2, 0, 3).contiguous() for side in past]
        own = microseconds(lambda query=query, past=past: attend_to_past(query, past[0], past[1], 4))
        found[f"one query, {positions} positions: attend_to_past"] = own
        one = query.view(128, 4, 1, 64)
        fused = microseconds(lambda one=one, heads=heads: scaled_dot_product_attention(one, heads[0], heads[1]))
        found[f"one query, {positions} positions: scaled_dot_product_attention"] = fused
    return found


def main() -> None:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--shortlist", type=Path, required=True, help="what openwork shortlist wrote for the bundle")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of the name of the ways that are measured")
    parser.add_argument("--beam", type=int, default=0, help="only this one")
    options = parser.parse_args()
    test = list(read_parallel(options.source, options.reference))
    bundle = load_bundle(options.bundle)
    shortlist = read_shortlist(options.shortlist, bundle.tokenizers)
    known = read()
    RESULTS.write_text(json.dumps(known | {"parts_microseconds": parts()}, indent=1, ensure_ascii=False) + "\n")
    for way in ways():
        if options.only in way.name and options.beam in (0, way.beam):
            made = translator(bundle, way, shortlist)
            keep("throughput", measure(bundle, way, made, test, options.passes), len(test))
            if way.batch_tokens == Way.batch_tokens and way.processes:
                keep("latency", latency(way, made, [pair.source for pair in test[:100]]), len(test))


def read() -> dict[str, Any]:
    """What is known already."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"throughput": [], "latency": [], "not_paid": []}


def keep(table: str, figure: dict[str, object], sentences: int) -> None:
    """Writes a figure into the file, in the place of an old one of the same way."""
    known = read()

    def way(one: dict[str, object]) -> tuple[object, ...]:
        return tuple(one.get(field.name) for field in fields(Way))

    known[table] = [*(one for one in known[table] if way(one) != way(figure)), figure]
    found = known | {"machine": describe_machine(), "sentences": sentences}
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
