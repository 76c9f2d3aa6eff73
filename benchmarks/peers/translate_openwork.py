"""Translating with openwork, from text to text, as `openwork translate` does: the bundle, loaded and asked."""

import time
from itertools import islice
from pathlib import Path

import speaking
import torch

from openwork.inference.loading import load_bundles, translator_of


def main() -> None:
    request = speaking.hear()
    if request["device"] == "cpu":
        torch.set_num_threads(request["threads"])
    begin = time.perf_counter()
    bundles = load_bundles([Path(request["model"])])
    as_peers = {"beam": request["beam"], "length_rule": "power", "length_penalty": 1.0}  # what they rank by
    decoding = bundles[0].settings.decoding.model_copy(update=as_peers)
    shortlist = request.get("shortlist")
    translator = translator_of(bundles, decoding, "auto", Path(shortlist) if shortlist else None)
    translator.best(["."])  # weights are prepared for the first translation
    facts = {"torch": torch.__version__, "precision": str(translator.engine.precision)}
    speaking.tell("facts", **facts, load_seconds=round(time.perf_counter() - begin, 3))
    sources = speaking.read_lines(request["sources"])
    translator.best(sources[:64])
    for _ in range(request["passes"]):
        begin = time.perf_counter()
        found = translator.best(sources)
        speaking.tell_pass(len(sources), time.perf_counter() - begin, "as it chooses")
        speaking.write_lines(request["out"], found)
    for source in islice(sources, request["singles"]):
        begin = time.perf_counter()
        translator.best([source])
        speaking.tell("single", seconds=time.perf_counter() - begin)
    speaking.tell_end()


main()
