"""Training with Marian through its Python package. It makes its own batches of the pieces of the same pairs.

Marian tells of each update on its log, with the target tokens (end symbols counted) that it learnt from; this script
runs it in a child and reads that. Its batches are counted in source tokens, and its threads share each of them. The
loss is a sum because only then does the log state the count; Adam does not mind the scale.
"""

import re
import subprocess
import sys
import tempfile
import time
from typing import Any

import speaking

# "Ep. 1 : Up. 3 : Sen. 612 : Cost 9.03 * 4,012 @ 3,900 after 12,036 : Time 1.9s : 2100.12 words/s : ..."
UPDATE = re.compile(r"Up\. \d+ .*Cost \S+ \* ([\d,]+) ")


def arguments(request: dict[str, Any], folder: str) -> list[str]:
    """Shape S and its training, in Marian's options."""
    shape, threads = request["shape"], request["threads"]
    source, target = request["source"], request["target"]
    device = ["--devices", "0"] if request["device"] == "cuda" else ["--cpu-threads", str(threads)]
    options: dict[str, object] = {
        "--type": "transformer", "--model": f"{folder}/model.npz", "--seed": 1,
        "--enc-depth": shape["layers"], "--dec-depth": shape["layers"], "--dim-emb": shape["width"],
        "--transformer-dim-ffn": shape["feedforward"], "--transformer-heads": shape["heads"],
        "--transformer-dropout": shape["dropout"], "--transformer-preprocess": "n", "--transformer-postprocess": "da",
        "--transformer-postprocess-top": "n", "--label-smoothing": 0.1, "--clip-norm": 1,
        "--optimizer": "adam", "--learn-rate": 0.0001, "--cost-type": "ce-sum",
        "--mini-batch": 1000, "--mini-batch-words": request["tokens"], "--maxi-batch": 100,
        "--maxi-batch-sort": "trg", "--max-length": 250, "--workspace": 2048,
        "--disp-freq": 1, "--after-batches": request["updates"],
    }  # fmt: skip
    vocabularies = ["--vocabs", request["words"]["marian"], request["words"]["marian"]]
    sizes = ["--dim-vocabs", str(shape["vocabulary"]), str(shape["vocabulary"])]
    flags = ["--tied-embeddings-all", "--disp-label-counts", "--sync-sgd"]
    flags += ["--fp16"] if request["precision"] == "float16" else []
    named = [str(part) for option in options.items() for part in option]
    return [*named, "--train-sets", source, target, *vocabularies, *sizes, *flags, *device]


def main() -> None:
    request = speaking.hear()
    code = "import sys, pymarian; pymarian.Trainer(sys.argv[1]).train()"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, " ".join(arguments(request, folder))]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert child.stdout is not None
        since, told = time.perf_counter(), []
        for line in child.stdout:
            print(line, end="", file=sys.stderr)
            if found := UPDATE.search(line):
                now = time.perf_counter()
                speaking.tell_update(int(found[1].replace(",", "")), now - since)
                since = now
            told.append(line)
        if child.wait() != 0:
            sys.exit("".join(told[-5:]))
    speaking.tell_end()


main()
