"""Whether heads that attend sharply are those that a model needs: the weights of each head beside its removal.

    OPENWORK_DATA=... python benchmarks/head_attention.py FOLDER results/heads-attention.json

FOLDER is that of an experiment of the kind heads on Multi30k en-de. For each head of each whole model: the largest
weight of a query, on average over the queries of 200 validation pairs, and what its removal costs on the validation
set.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import torch
from scipy.stats import spearmanr
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from machine import describe_machine
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import load_bundle
from openwork.data.corpora.catalogue import load
from openwork.experiments.heads import HEAD
from openwork.experiments.report.results import read_results
from openwork.nn.recording import recording

PAIRS = 200


def largest_weights(folder: Path, pairs: list[tuple[str, str]]) -> dict[str, Tensor]:
    """For each attention of a bundle, by its name: the mean over all queries of a head's largest weight (head,)."""
    bundle = load_bundle(folder)
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}
    for source, target in pairs:
        ids = bundle.tokenizers.source.encode_batch([source])[0], bundle.tokenizers.target.encode_batch([target])[0]
        read = torch.tensor([[*ids[0], SYMBOL_IDS.end]])
        written = torch.tensor([[SYMBOL_IDS.start, *ids[1]]])
        with torch.inference_mode(), recording(bundle.model) as kept:
            bundle.model(read, torch.tensor([read.shape[1]]), written)
        for name, (weights, *_) in kept.items():
            best = weights[0].amax(dim=-1)  # (head, query)
            sums[name] = sums.get(name, torch.zeros(best.shape[0])) + best.sum(dim=1)
            counts[name] = counts.get(name, 0) + best.shape[1]
    return {name: total / counts[name] for name, total in sums.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    trials = read_results(arguments.folder).trials
    pairs = [(pair.source, pair.target) for pair in load("multi30k-en-de", "valid")][:PAIRS]
    heads: list[dict[str, Any]] = []
    for whole in (trial for trial in trials if HEAD not in trial.settings):
        found = largest_weights(arguments.folder / "trials" / f"{whole.number:04}", pairs)
        for trial in trials:
            if trial.seed == whole.seed and HEAD in trial.settings:
                place, _, number = str(trial.settings[HEAD]).rpartition(".")
                cost = whole.validation["bleu"] - trial.validation["bleu"]
                largest = float(found[place][int(number) - 1])
                heads.append({"seed": whole.seed, "head": f"{place}.{number}", "largest": largest, "cost": cost})
    everything = spearmanr([one["largest"] for one in heads], [one["cost"] for one in heads])
    kinds = sorted({one["head"].rpartition(".")[0] for one in heads})
    result = {
        "command": f"python benchmarks/head_attention.py {arguments.folder.name} {arguments.output.name}",
        "machine": describe_machine(),
        "pairs": PAIRS,
        "rank_correlation": everything.statistic,
        "p": everything.pvalue,
        "by_attention": {
            kind: {
                "largest": sum(one["largest"] for one in same) / len(same),
                "cost": sum(one["cost"] for one in same) / len(same),
                "rank_correlation": spearmanr(
                    [one["largest"] for one in same], [one["cost"] for one in same]
                ).statistic,
            }
            for kind in kinds
            for same in [[one for one in heads if one["head"].startswith(f"{kind}.")]]
        },
        "heads": heads,
    }
    arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps({key: value for key, value in result.items() if key != "heads"}, indent=1))


if __name__ == "__main__":
    main()
