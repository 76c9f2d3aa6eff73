"""What a decoder saves whose tokens leave its layers early, and what becomes of the translations.

    python benchmarks/early_exit.py NAME --corpus CORPUS BUNDLE

Greedy search, in which a token leaves after the first layer that has told enough; in the layers above, its keys and
values are those of the vector that it left with (Elbayad et al. 2020, section 3).

- `probability P`: the final norm and the output matrix predict the next token after each layer, and the best one has
  more than P, which costs an output projection after each.
- `gate P`: a logistic regression on the layer's vector says with more than P that the best token is the last layer's.
  It is fitted to the model's own translations of the first training pairs.
- `oracle`: it is known at no cost which layer's best token is the last layer's; the translations are read again.

Multiply-adds are those of the decoder and its output for a token, by openwork's cost model. Added to
results/early-exit.json.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent))
from machine import add_result
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.cost.cost import cost_of
from openwork.data.corpora.catalogue import load
from openwork.decoding.search import decode
from openwork.inference.batches import padded
from openwork.inference.translator import BatchTranslator
from openwork.metrics.translation import bleu
from openwork.models.seq2seq import Transformer, TransformerState
from openwork.nn.masks import Mask
from openwork.runs.usable import usable_bundle

RESULTS = Path(__file__).parent / "results" / "early-exit.json"
PROBABILITIES = (0.5, 0.7, 0.9)
FITTED, TOGETHER = 2000, 100  # sentences

Leaves = Callable[[int, Tensor], Tensor]
"""Says after layer `number` (from 0), for vectors (row, 1, width) with the final norm, which rows leave (row, 1)."""


class ExitingTransformer:
    """A model whose tokens leave its decoder where `leaves` says so, as searches use it; it counts their layers."""

    def __init__(self, model: Transformer, leaves: Leaves) -> None:
        self.model, self.leaves = model, leaves
        self.start = model.start
        self.layers = self.tokens = 0

    def step(self, tokens: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        model, decoder = self.model, self.model.decoder
        x = model.target_positions(model.target_embedding(tokens), state.position)
        has_left, caches = torch.zeros(tokens.shape, dtype=torch.bool), []
        for number, (layer, cache) in enumerate(zip(decoder.layers, state.caches, strict=True)):
            after, cache = layer(x, cache, Mask(key_lengths=state.source_lengths))
            caches.append(cache)
            self.layers += int((~has_left).sum())
            x = torch.where(has_left[..., None], x, after)
            if number + 1 < len(decoder.layers):
                has_left |= self.leaves(number, decoder.final_norm(x))
        self.tokens += tokens.numel()
        logits = model.project(model.narrow(decoder.final_norm(x)))
        return logits, TransformerState(tuple(caches), state.source_lengths, state.position + tokens.shape[1])


@dataclass(frozen=True)
class Read:
    """What a model makes of its own translations, at each place of all of them."""

    vectors: Tensor  # (layer, place, width), with the final norm
    best: Tensor  # (layer, place): the best token


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--corpus", required=True)
    asked = parser.parse_args()
    bundle = load_bundle(usable_bundle(asked.bundle))
    model, pairs = bundle.model, list(load(asked.corpus, "test"))
    assert isinstance(model, Transformer)
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    gates = _gates(_read(bundle, [pair.source for pair in islice(load(asked.corpus, "train"), FITTED)]))
    spent = _Spent(bundle)

    def exits(leaves: Leaves, asks: bool) -> dict[str, float]:
        exiting = ExitingTransformer(model, leaves)
        texts = _translate(bundle, exiting, sources)
        return {
            "mean_layers": round(exiting.layers / exiting.tokens, 2),
            "bleu": round(bleu(texts, references, language=bundle.settings.target_language).value, 2),
            "same_translation_percent": round(100 * sum(map(str.__eq__, texts, whole)) / len(texts), 1),
            "share_of_multiply_adds": spent.share(exiting.layers / exiting.tokens, asks),
        }

    whole = BatchTranslator.of(bundle, bundle.settings.decoding.model_copy(update={"beam": 1, "best": 1})).best(sources)
    found = {"whole": exits(lambda _, x: torch.zeros(x.shape[:2], dtype=torch.bool), False)}
    found["oracle"] = _oracle(_read(bundle, sources), spent)
    for p in PROBABILITIES:
        found[f"probability {p}"] = exits(lambda _, x, p=p: _logits(model, x).softmax(-1).amax(-1) > p, True)
        found[f"gate {p}"] = exits(lambda n, x, p=p: _gate(gates[n], x).sigmoid() > p, False)
    for way, row in found.items():
        print(way, row)
    command = f"python benchmarks/early_exit.py {asked.name} --corpus {asked.corpus} {asked.name}"
    facts = {"sentences": len(sources), "decoder_layers": spent.layers, "multiply_adds_of_a_layer": round(spent.layer)}
    add_result(
        RESULTS, asked.name, command, facts | {"multiply_adds_of_the_output": round(spent.output), "exits": found}
    )


def _logits(model: Transformer, x: Tensor) -> Tensor:
    """Without the symbols that no target has."""
    logits = model.project(model.narrow(x))
    logits[..., list(SYMBOL_IDS.forbidden)] = -torch.inf
    return logits


def _gate(weights: Tensor, x: Tensor) -> Tensor:
    """Logits (...) of vectors (..., width); the last weight is the bias."""
    return x @ weights[:-1] + weights[-1]


def _gates(read: Read) -> list[Tensor]:
    """For each layer but the last the weights that tell whether its best token is the last layer's."""
    fitted = []
    for vectors, best in zip(read.vectors[:-1], read.best[:-1], strict=True):
        weights, wanted = torch.zeros(vectors.shape[1] + 1, requires_grad=True), (best == read.best[-1]).float()
        optimiser = torch.optim.LBFGS([weights], max_iter=100, line_search_fn="strong_wolfe")

        def loss(vectors: Tensor = vectors, weights: Tensor = weights, wanted: Tensor = wanted) -> Tensor:
            weights.grad = None
            missed = functional.binary_cross_entropy_with_logits(_gate(weights, vectors), wanted)
            missed = missed + 1e-4 * weights[:-1].square().sum()
            missed.backward()
            return missed

        optimiser.step(loss)
        fitted.append(weights.detach())
    return fitted


@torch.no_grad()
def _translate(bundle: Bundle, model: ExitingTransformer, sources: Sequence[str]) -> list[str]:
    greedy = bundle.settings.decoding.model_copy(update={"beam": 1, "best": 1})
    texts = []
    for first in range(0, len(sources), TOGETHER):
        part = sources[first : first + TOGETHER]
        rows, spans = zip(*bundle.tokenizers.encode_sources(part), strict=True)
        found = decode(model, *padded(rows, torch.device("cpu")), greedy)
        texts += [
            bundle.tokenizers.decode_target(best.tokens, span).text for (best,), span in zip(found, spans, strict=True)
        ]
    return texts


@torch.no_grad()
def _read(bundle: Bundle, sources: Sequence[str]) -> Read:
    """The model's greedy translations of these, read again."""
    model, vectors = bundle.model, []
    assert isinstance(model, Transformer)
    translator = BatchTranslator.of(bundle, bundle.settings.decoding.model_copy(update={"beam": 1, "best": 1}))
    outputs: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(lambda _, __, output: outputs.append(output[0])) for layer in model.decoder.layers
    ]
    for source, target in zip(sources, translator.best(sources), strict=True):
        ids = [*bundle.tokenizers.source.encode(source), SYMBOL_IDS.end]
        state = model.start(torch.tensor([ids]), torch.tensor([len(ids)]))
        model.advance(torch.tensor([[SYMBOL_IDS.start, *bundle.tokenizers.target.encode(target)]]), state)
        vectors.append(model.decoder.final_norm(torch.cat(outputs)))
        outputs.clear()
    for hook in hooks:
        hook.remove()
    together = torch.cat(vectors, dim=1)
    return Read(together, torch.cat([_logits(model, part).argmax(dim=-1) for part in together.split(1000, 1)], 1))


class _Spent:
    """Multiply-adds for a target token."""

    def __init__(self, bundle: Bundle) -> None:
        cost = cost_of(bundle.settings.model, *bundle.tokenizers.sizes)
        products = {part.name: part.products / cost.lengths.target for part in cost.parts}
        assert isinstance(bundle.model, Transformer)
        self.layers = len(bundle.model.decoder.layers)
        self.layer = sum(products[name] for name in products if name.startswith("decoder"))
        self.output = products["embeddings and output"]
        self.keys = 2 * bundle.settings.model.width**2

    def share(self, mean: float, asks: bool) -> float:
        """Of the whole decoder's, with so many layers for a token; `asks`: each of them costs an output."""
        outputs = mean if asks else 1
        spent = mean * self.layer + (self.layers - mean) * self.keys + outputs * self.output
        return round(spent / (self.layers * self.layer + self.output), 2)


def _oracle(read: Read, spent: _Spent) -> dict[str, float]:
    agrees = read.best == read.best[-1]
    mean = float((agrees.int().argmax(dim=0) + 1).float().mean())
    return {
        "mean_layers": round(mean, 2),
        "share_of_multiply_adds": spent.share(mean, asks=False),
        "same_token_after_one_layer_percent": round(100 * float(agrees[0].float().mean()), 1),
    }


if __name__ == "__main__":
    main()
