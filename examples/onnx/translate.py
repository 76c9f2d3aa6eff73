"""Translates lines with a graph that openwork exported: onnxruntime and tokenizers, no torch and no openwork.

    openwork export BUNDLE --to onnx --out graph
    python translate.py graph < source.txt > translations.txt

One thread; at most 16 lines at a time, so that a phone's memory suffices.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

AT_ONCE = 16


def open_graph(folder: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # memory goes back as soon as it is free
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])


def open_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Those of source and target, which may be one."""
    if (folder / "tokenizer.json").is_file():
        shared = Tokenizer.from_file(str(folder / "tokenizer.json"))
        return shared, shared
    source, target = (Tokenizer.from_file(str(folder / side / "tokenizer.json")) for side in ("source", "target"))
    return source, target


def translate(folder: Path, lines: list[str]) -> list[str]:
    """The translation of each line; of an empty line, or one that is too long, an empty one."""
    config = json.loads((folder / "config.json").read_text())
    longest, pad = config["maximum_source_length"], config["symbols"]["pad"]
    source, target = open_tokenizers(folder)
    graph = open_graph(folder)
    ids = {place: source.encode(line).ids for place, line in enumerate(lines) if line.strip()}
    for place in [place for place, one in ids.items() if len(one) > longest]:
        print(f"line {place + 1} has more than {longest} pieces, and is left out", file=sys.stderr)
        del ids[place]
    found = [""] * len(lines)
    order = sorted(ids, key=lambda place: len(ids[place]))
    for places in (order[first : first + AT_ONCE] for first in range(0, len(order), AT_ONCE)):
        lengths = np.array([len(ids[place]) for place in places])
        rows = np.full((len(places), lengths.max()), pad)
        for row, place in zip(rows, places, strict=True):
            row[: len(ids[place])] = ids[place]
        tokens, _ = graph.run(None, {"source": rows, "source_lengths": lengths})
        for place, best in zip(places, tokens[:, 0].tolist(), strict=True):
            found[place] = target.decode([token for token in best if token != pad])
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python translate.py FOLDER < source.txt")
    print(*translate(Path(sys.argv[1]), sys.stdin.read().removesuffix("\n").split("\n")), sep="\n")
