"""Chapter 8 of document 002 calculated: its model of one layer each, whole and step by step, in float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from openwork.decoding.greedy import most_probable
from openwork.decoding.scoring import log_normaliser
from openwork.inspection.recorder import Recorder
from openwork.inspection.tracing import trace_forward
from openwork.models.build import build_transformer
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels import reference
from openwork.nn.masks import EVERYTHING, causal
from openwork.nn.positions import exact_sinusoids
from openwork.study.documents import chapter_eight_given as given
from openwork.study.documents.verdicts import array

Values = dict[str, np.ndarray]  # name of a step -> its value, without the batch axis

SETTINGS = TransformerSettings(
    width=4, heads=2, encoder_layers=1, decoder_layers=1, feedforward_width=8, dropout=0.0, tying="three-way"
)


def toy_model(positions: Tensor | None = None, *, scaled_embeddings: bool = False) -> Transformer:
    """The document's model. The decoder has the encoder's matrices; biases are 0, gains 1, shifts 0.

    `positions`: what is added to the embeddings, the exact sinusoids unless given. The document leaves out the factor
    sqrt(d_model) on the embeddings.
    """
    model = build_transformer(SETTINGS, 10, 10, reference.attention).double().eval()
    table = exact_sinusoids(4, 4) if positions is None else positions
    both: Any = (model.source_positions, model.target_positions)
    for part in both:
        part.table = table
    if not scaled_embeddings:
        model.source_embedding.scale = model.target_embedding.scale = 1.0
    with torch.no_grad():
        model.source_embedding.table.weight.copy_(torch.tensor(given.EMBEDDING, dtype=torch.float64))
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(torch.tensor(MATRICES[name.rpartition(".")[2]], dtype=torch.float64).T)
                if module.bias is not None:
                    module.bias.zero_()
    return model


# The document multiplies from the right, x W; torch keeps the transposed matrix.
MATRICES = {
    "query": given.PROJECTION,
    "key": given.PROJECTION,
    "value": given.PROJECTION,
    "output": given.OUTPUT,
    "expand": given.EXPAND,
    "contract": given.CONTRACT,
}


def chain(model: Transformer, target: Sequence[int] = given.TARGET) -> Values:
    """Every step from the source's embedding to the probabilities, with `target` as the decoder's input."""
    recorder = Recorder({"source": given.SOURCE_WORDS, "target": [given.VOCABULARY[token] for token in target]})
    trace_forward(model, recorder, given.SOURCE, target)
    traced = {step.name: step.value for step in recorder.steps}
    values = {name: traced[step] for name, step in STEPS.items()} | _heads(traced)
    values["decoder.mask"] = array(mask_as_numbers(len(target)))
    for name in ("output", "feedforward"):  # the document projects the bare feed-forward output
        hidden = torch.from_numpy(values[f"decoder.{name}"])
        with torch.no_grad():
            made = _prediction(model, hidden, "" if name == "output" else "bare.")
        values |= {step: array(value) for step, value in made.items()}
    return values


# The document's steps -> those of a traced forward pass.
STEPS = {
    "positions": "target.positions",
    "source.embedding": "source.embedding",
    "source.input": "source.sum",
    "encoder.attention": "encoder.layers.0.self_attention.output",
    "encoder.sum1": "encoder.layers.0.attention_wiring.residual",
    "encoder.norm1": "encoder.layers.0.attention_wiring.norm",
    "encoder.expanded": "encoder.layers.0.feedforward.expand",
    "encoder.activated": "encoder.layers.0.feedforward.activation",
    "encoder.feedforward": "encoder.layers.0.feedforward.contract",
    "encoder.sum2": "encoder.layers.0.feedforward_wiring.residual",
    "encoder.output": "encoder.layers.0.feedforward_wiring.norm",
    "target.embedding": "target.embedding",
    "target.input": "target.sum",
    "decoder.attention": "decoder.layers.0.self_attention.output",
    "decoder.norm1": "decoder.layers.0.self_wiring.norm",
    "cross.attention": "decoder.layers.0.cross_attention.output",
    "decoder.norm2": "decoder.layers.0.cross_wiring.norm",
    "decoder.feedforward": "decoder.layers.0.feedforward.contract",
    "decoder.output": "decoder.layers.0.feedforward_wiring.norm",
}


def _heads(traced: Values) -> Values:
    """What happens inside the attentions: of the two heads the first, or both, or both side by side."""
    encoder, own, cross = (
        f"{layer}_attention" for layer in ("encoder.layers.0.self", "decoder.layers.0.self", "decoder.layers.0.cross")
    )
    return {
        "encoder.query": _side_by_side(traced[f"{encoder}.query"]),
        "encoder.products": traced[f"{encoder}.products"][0],
        "encoder.scores": traced[f"{encoder}.scores"][0],
        "encoder.weights": traced[f"{encoder}.weights"][0],
        "encoder.head1": traced[f"{encoder}.heads"][0],
        "encoder.head2": traced[f"{encoder}.heads"][1],
        "encoder.joined": _side_by_side(traced[f"{encoder}.heads"]),
        "decoder.query": _side_by_side(traced[f"{own}.query"]),
        "decoder.scores": traced[f"{own}.scores"][0],
        "decoder.weights": traced[f"{own}.weights"][0],
        "decoder.weights2": traced[f"{own}.weights"][1],
        "cross.scores": traced[f"{cross}.scores"][0],
        "cross.weights": traced[f"{cross}.weights"][0],
        "cross.weights2": traced[f"{cross}.weights"][1],
    }


def _side_by_side(heads: np.ndarray) -> np.ndarray:
    """(head, position, each) -> (position, head * each)"""
    return array(MultiHeadAttention.join(torch.from_numpy(heads)[None])[0])


def mask_as_numbers(size: int) -> Tensor:
    """The causal mask as it is added to scores: 0 where a query may attend, else minus infinity."""
    nothing = torch.zeros(1, 1, size, size, dtype=torch.float64)
    return reference.masked_scores(nothing, causal(size, size))[0, 0]


def _prediction(model: Transformer, hidden: Tensor, prefix: str) -> dict[str, Tensor]:
    logits = model.project(hidden)
    tokens = most_probable(logits, torch.arange(len(logits)), 0)[1]
    probabilities = (logits - log_normaliser(logits)).exp()
    return {f"{prefix}logits": logits, f"{prefix}probabilities": probabilities, f"{prefix}prediction": tokens}


def own_figures(model: Transformer) -> Values:
    """Each of the encoder's steps from the figures that the document prints for the step before.

    `model` must add the document's positions. So each slip shows where it happens, and not in what follows.
    """
    before = {name: torch.tensor([figures], dtype=torch.float64) for name, (_, figures, _) in given.ENCODER.items()}
    layer: Any = model.encoder.layers[0]
    attention = layer.self_attention
    heads = torch.stack([before["encoder.head1"], before["encoder.head2"]], dim=1)
    with torch.no_grad():
        made = {
            "source.input": model.source_positions(model.source_embedding(torch.tensor([given.SOURCE]))),
            "encoder.query": attention.query(before["source.input"]),
            **_own_heads(attention, before),
            "encoder.joined": attention.join(heads),
            "encoder.attention": attention.output(before["encoder.joined"]),
            "encoder.sum1": layer.attention_wiring.residual(before["source.input"], before["encoder.attention"]),
            "encoder.sum2": layer.feedforward_wiring.residual(before["encoder.norm1"], before["encoder.feedforward"]),
            "encoder.norm1": layer.attention_wiring.norm(before["encoder.sum1"]),
            "encoder.expanded": layer.feedforward.expand(before["encoder.norm1"]),
            "encoder.activated": layer.feedforward.activation(before["encoder.expanded"]),
            "encoder.feedforward": layer.feedforward.contract(before["encoder.activated"]),
            "encoder.output": layer.feedforward_wiring.norm(before["encoder.sum2"]),
        }
    return {name: array(made[name][0]) for name in given.ENCODER}


def _own_heads(attention: MultiHeadAttention, before: dict[str, Tensor]) -> dict[str, Tensor]:
    """The attention's own steps; what the document calls the first head is the first two columns."""
    both = attention.split(before["encoder.query"], 2)
    first, second = both[:, :1], both[:, 1:]
    weights = reference.softmax_over(before["encoder.scores"][:, None], None)
    return {
        "encoder.products": reference.attention_scores(first, first, 1.0)[:, 0],
        "encoder.scores": before["encoder.products"] * attention.scale,
        "encoder.weights": weights[:, 0],
        "encoder.head1": reference.weighted_sum(before["encoder.weights"][:, None], first)[:, 0],
        "encoder.head2": reference.attention(second, second, second, EVERYTHING, attention.scale)[:, 0],
    }


def largest_probabilities(model: Transformer, tokens: Sequence[int] = given.TARGET) -> np.ndarray:
    """The largest probability that any layer-normed vector can give each token, found by gradient ascent."""
    layer: Any = model.decoder.layers[0]
    x = torch.tensor(given.EMBEDDING, dtype=torch.float64)[list(tokens)]
    right = torch.tensor(tokens)[:, None]

    def log_probabilities() -> Tensor:
        logits = model.project(layer.feedforward_wiring.norm(x))
        return (logits - log_normaliser(logits)).gather(-1, right)

    for _ in range(400):
        x.requires_grad_()
        (gradient,) = torch.autograd.grad(log_probabilities().sum(), x)
        x = (x + 0.1 * gradient).detach()
    return array(log_probabilities().exp()[:, 0])
