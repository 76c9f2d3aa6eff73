"""Chapter 8 of document 002 calculated: its model of one layer each, whole and step by step, in float64."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from openwork.decoding.greedy import most_probable
from openwork.decoding.scoring import log_normaliser
from openwork.models.build import build_transformer
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels import reference
from openwork.nn.masks import EVERYTHING, causal
from openwork.nn.positions import exact_sinusoids
from openwork.systems.examples import chapter_eight_given as given
from openwork.systems.examples.verdicts import array
from openwork.systems.examples.watching import Notes, watching

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
    with torch.no_grad(), watching(model) as notes:
        state = model.start(torch.tensor([given.SOURCE]), torch.tensor([len(given.SOURCE)]))
        model.advance(torch.tensor([target]), state)
        positions: Any = model.source_positions
        values = {"positions": positions.rows(0, 4)} | _encoder_values(notes) | _decoder_values(notes)
        for name in ("output", "feedforward"):  # the document projects the bare feed-forward output
            values |= _prediction(model, values[f"decoder.{name}"], "" if name == "output" else "bare.")
    return {name: array(value) for name, value in values.items()}


def _encoder_values(notes: Notes) -> dict[str, Tensor]:
    layer = "encoder.layers.0"
    kernel = notes.attended[f"{layer}.self_attention"][0]
    return {
        "source.embedding": notes.given["source_embedding"][0][0],
        "source.input": notes.given["source_positions"][0][0],
        "encoder.query": notes.given[f"{layer}.self_attention.query"][0][0],
        "encoder.products": kernel.products[0, 0],
        "encoder.scores": kernel.scores[0, 0],
        "encoder.weights": kernel.weights[0, 0],
        "encoder.head1": kernel.heads[0, 0],
        "encoder.head2": kernel.heads[0, 1],
        "encoder.joined": notes.taken[f"{layer}.self_attention.output"][0][0],
        "encoder.attention": notes.given[f"{layer}.self_attention"][0][0],
        "encoder.sum1": notes.given[f"{layer}.attention_wiring.residual"][0][0],
        "encoder.norm1": notes.given[f"{layer}.attention_wiring.norm"][0][0],
        "encoder.expanded": notes.given[f"{layer}.feedforward.expand"][0][0],
        "encoder.activated": notes.given[f"{layer}.feedforward.activation"][0][0],
        "encoder.feedforward": notes.given[f"{layer}.feedforward"][0][0],
        "encoder.sum2": notes.given[f"{layer}.feedforward_wiring.residual"][0][0],
        "encoder.output": notes.given["encoder"][0][0],
    }


def _decoder_values(notes: Notes) -> dict[str, Tensor]:
    layer = "decoder.layers.0"
    own, cross = (notes.attended[f"{layer}.{name}_attention"][0] for name in ("self", "cross"))
    return {
        "target.embedding": notes.given["source_embedding"][1][0],  # the tied table is one module, called twice
        "target.input": notes.given["target_positions"][0][0],
        "decoder.query": notes.given[f"{layer}.self_attention.query"][0][0],
        "decoder.scores": own.scores[0, 0],
        "decoder.mask": mask_as_numbers(own.scores.shape[-1]),
        "decoder.weights": own.weights[0, 0],
        "decoder.weights2": own.weights[0, 1],
        "decoder.attention": notes.given[f"{layer}.self_attention"][0][0],
        "decoder.norm1": notes.given[f"{layer}.self_wiring.norm"][0][0],
        "cross.scores": cross.scores[0, 0],
        "cross.weights": cross.weights[0, 0],
        "cross.weights2": cross.weights[0, 1],
        "cross.attention": notes.given[f"{layer}.cross_attention"][0][0],
        "decoder.norm2": notes.given[f"{layer}.cross_wiring.norm"][0][0],
        "decoder.feedforward": notes.given[f"{layer}.feedforward"][0][0],
        "decoder.output": notes.given[f"{layer}.feedforward_wiring.norm"][0][0],
    }


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
