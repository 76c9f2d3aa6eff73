"""What a decoder could save that leaves its layers as soon as it is sure of the next token (early exit).

    python benchmarks/early_exit.py BUNDLE --corpus CORPUS

The model's own greedy translations are read again, and after each layer of the decoder its final norm and its output
matrix predict the next token. `oracle`: the first layer whose best token is the last layer's is known at no cost.
Otherwise a token leaves where the best one has more than a probability, which costs an output projection after each
layer. Multiply-adds are those of the decoder and its output for a target token, by openwork's cost model; a token that
left early still needs keys and values in the layers that it has not seen. Added to results/early-exit.json.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parent))
from machine import add_result
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.cost.cost import cost_of
from openwork.data.corpora.catalogue import load
from openwork.inference.translator import BatchTranslator
from openwork.models.seq2seq import Transformer
from openwork.runs.usable import usable_bundle

RESULTS = Path(__file__).parent / "results" / "early-exit.json"
PROBABILITIES = (0.5, 0.7, 0.9, 0.95)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--sentences", type=int, default=1000)
    asked = parser.parse_args()
    bundle = load_bundle(usable_bundle(asked.bundle))
    sources = [pair.source for pair in load(asked.corpus, "test")][: asked.sentences]
    translator = BatchTranslator.of(bundle, bundle.settings.decoding.model_copy(update={"beam": 1, "best": 1}))
    pairs = zip(sources, translator.best(sources), strict=True)
    probabilities, tokens = (
        torch.cat(parts, dim=1) for parts in zip(*(_read(bundle, *pair) for pair in pairs), strict=True)
    )
    found = _savings(bundle, probabilities, tokens)
    for name, row in found["exits"].items():
        print(name, row)
    command = f"python benchmarks/early_exit.py {asked.corpus} --corpus {asked.corpus}"
    add_result(RESULTS, asked.corpus, command, {"sentences": len(sources), **found})


@torch.no_grad()
def _read(bundle: Bundle, source: str, target: str) -> tuple[Tensor, Tensor]:
    """The probability of the best token, and that token, after each layer at each place (layer, place)."""
    model = bundle.model
    assert isinstance(model, Transformer)
    outputs: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda _, __, output: outputs.append(output[0])) for layer in model.decoder.layers
    ]
    ids = [*bundle.tokenizers.source.encode(source), SYMBOL_IDS.end]
    state = model.start(torch.tensor([ids]), torch.tensor([len(ids)]))
    model.advance(torch.tensor([[SYMBOL_IDS.start, *bundle.tokenizers.target.encode(target)]]), state)
    for hook in hooks:
        hook.remove()
    logits = model.project(model.narrow(model.decoder.final_norm(torch.cat(outputs))))
    logits[..., list(SYMBOL_IDS.forbidden)] = -torch.inf
    best = logits.softmax(dim=-1).max(dim=-1)
    return best.values, best.indices


def _savings(bundle: Bundle, probabilities: Tensor, tokens: Tensor) -> dict[str, Any]:
    cost = cost_of(bundle.settings.model, *bundle.tokenizers.sizes)
    layers = len(tokens)
    products = {part.name: part.products / cost.lengths.target for part in cost.parts}
    layer = sum(products[name] for name in products if name.startswith("decoder"))
    output = products["embeddings and output"]
    keys = 2 * bundle.settings.model.width**2
    whole = layers * layer + output

    def row(seen: Tensor, asks: bool) -> dict[str, float]:
        """`seen`: the layers (place) that each token has been through; `asks`: whether each costs an output."""
        agree = tokens.gather(0, (seen - 1)[None])[0] == tokens[-1]
        mean = float(seen.float().mean())
        spent = (
            mean * layer
            + (layers - mean) * keys
            + (float(seen.clamp(max=layers).float().mean()) if asks else 1) * output
        )
        return {
            "mean_layers": round(mean, 2),
            "same_token_percent": round(100 * float(agree.float().mean()), 2),
            "share_of_multiply_adds": round(spent / whole, 2),
        }

    def first(is_sure: Tensor) -> Tensor:
        is_sure[-1] = True
        return is_sure.int().argmax(dim=0) + 1

    exits = {"oracle": row(first(tokens == tokens[-1]), asks=False)}
    exits |= {f"probability {p}": row(first(probabilities > p), asks=True) for p in PROBABILITIES}
    return {
        "decoder_layers": layers, "tokens": tokens.shape[1], "multiply_adds_of_a_layer": round(layer),
        "multiply_adds_of_the_output": round(output), "exits": exits,
    }  # fmt: skip


if __name__ == "__main__":
    main()
