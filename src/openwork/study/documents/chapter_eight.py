"""Chapter 8 of document 002 calculated: its model of one layer each, whole and step by step, in float64."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from openwork.base.messages import msg
from openwork.decoding.left_to_right import most_probable
from openwork.decoding.scoring import log_normaliser
from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Printed, Step
from openwork.inspection.tracing import trace_forward
from openwork.models.build import build_transformer
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.kernels import reference
from openwork.nn.masks import EVERYTHING
from openwork.nn.positions import exact_sinusoids
from openwork.study.documents import chapter_eight_given as given
from openwork.study.documents.attention import mask_as_numbers
from openwork.study.steps import Part, Worked, array, worked

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
    both: Any = (model.source_positions, model.target_positions)
    for part in both:
        part.table = exact_sinusoids(4, 4) if positions is None else positions
    if not scaled_embeddings:
        model.source_embedding.scale = model.target_embedding.scale = 1.0
    with torch.no_grad():
        model.source_embedding.table.weight.copy_(torch.tensor(given.EMBEDDING, dtype=torch.float64))
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.weight.copy_(torch.tensor(given.MATRICES[name.rpartition(".")[2]], dtype=torch.float64).T)
                if module.bias is not None:
                    module.bias.zero_()
    return model


def chain(model: Transformer, target: Sequence[int] = given.TARGET) -> Values:
    """Every step from the source's embedding to the probabilities, with `target` as the decoder's input."""
    recorder = Recorder({"source": given.SOURCE_WORDS, "target": [given.VOCABULARY[token] for token in target]})
    trace_forward(model, recorder, given.SOURCE, target)
    traced = {step.name: step.value for step in recorder.steps}
    values = {shown.name: _of_heads(traced[shown.traced], shown.head) for shown in given.STEPS if shown.traced}
    values["decoder.mask"] = array(mask_as_numbers(len(target)))
    for prefix, name in ("", "decoder.output"), ("bare.", "decoder.feedforward"):  # as the document's text reads
        with torch.no_grad():
            logits = model.project(torch.from_numpy(values[name]))
        values[f"{prefix}logits"] = array(logits)
        values[f"{prefix}probabilities"] = array((logits - log_normaliser(logits)).exp())
        values[f"{prefix}prediction"] = array(most_probable(logits, torch.arange(len(logits)), 0)[1])
    return values


def _of_heads(value: np.ndarray, head: int | None) -> np.ndarray:
    """One head's part of a value, or all heads' side by side: (head, position, each) -> (position, head * each)."""
    if head is not None:
        return value[head]
    return value if value.ndim < 3 else array(MultiHeadAttention.join(torch.from_numpy(value)[None])[0])


def own_figures(model: Transformer) -> Values:
    """Each of the encoder's steps from the figures that the document prints for the step before.

    `model` must add the document's positions. So each slip shows where it happens, and not in what follows.
    """
    before = {name: torch.tensor([one.figures], dtype=torch.float64) for name, one in given.ENCODER.items()}
    layer: Any = model.encoder.layers[0]
    attention = layer.self_attention
    # what the document calls the first head is the first two columns
    first, second = attention.split(before["encoder.query"], 2).chunk(2, dim=1)
    with torch.no_grad():
        made = {
            "source.input": model.source_positions(model.source_embedding(torch.tensor([given.SOURCE]))),
            "encoder.query": attention.query(before["source.input"]),
            "encoder.products": reference.attention_scores(first, first, 1.0)[:, 0],
            "encoder.scores": before["encoder.products"] * attention.scale,
            "encoder.weights": reference.softmax_over(before["encoder.scores"][:, None], None)[:, 0],
            "encoder.head1": reference.weighted_sum(before["encoder.weights"][:, None], first)[:, 0],
            "encoder.head2": reference.attention(second, second, second, EVERYTHING, attention.scale)[:, 0],
            "encoder.joined": attention.join(torch.stack([before["encoder.head1"], before["encoder.head2"]], dim=1)),
            "encoder.attention": attention.output(before["encoder.joined"]),
            "encoder.sum1": layer.attention_wiring.residual(before["source.input"], before["encoder.attention"]),
            "encoder.sum2": layer.feedforward_wiring.residual(before["encoder.norm1"], before["encoder.feedforward"]),
            "encoder.norm1": layer.attention_wiring.norm(before["encoder.sum1"]),
            "encoder.expanded": layer.feedforward.expand(before["encoder.norm1"]),
            "encoder.activated": layer.feedforward.activation(before["encoder.expanded"]),
            "encoder.feedforward": layer.feedforward.contract(before["encoder.activated"]),
            "encoder.output": layer.feedforward_wiring.norm(before["encoder.sum2"]),
        }
    return {name: array(value[0]) for name, value in made.items()}


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


def exact() -> Worked:
    """The chain with the document's own decoder input."""
    model = toy_model()
    values = chain(model)
    # held against the exact chain, two decimals of the encoder's figures count
    encoder = {
        name: one._replace(unit=max(one.unit, 0.01), reason=one.reason or given.INHERITED, slack=1.0)
        for name, one in given.ENCODER.items()
    }
    scores = np.where(np.isfinite(given.MASKED_SCORES), values["decoder.scores"], given.NEVER)
    printed = {
        name: one.judged(scores if name == "decoder.scores" else values[name])
        for name, one in (encoder | given.OTHERS).items()
    }
    bound = worked(
        "bound",
        "The largest probability that any layer-normed vector can give each target token",
        "max over y of softmax(LayerNorm(y) W_e^T)",
        largest_probabilities(model),
        Part(f"{__name__}.largest_probabilities"),
        quoted=given.BOUND,
        axes={"position": given.TARGET_WORDS},
    )
    return Worked((*_steps(values, printed, given.TARGET_WORDS), bound), _assumption_lines(shifted=False))


def shifted() -> Worked:
    """The chain with the decoder input that the paper would have."""
    steps = _steps(chain(toy_model(), given.SHIFTED), {}, given.SHIFTED_WORDS)
    return Worked(steps, _assumption_lines(shifted=True))


def own() -> Worked:
    """Each encoder step from the document's figures before it."""
    values = own_figures(toy_model(torch.tensor(given.POSITIONS, dtype=torch.float64)))
    printed = {
        name: one._replace(reason=one.reason or given.ROUNDED).judged(values[name])
        for name, one in given.ENCODER.items()
    }
    return Worked(
        _steps(values, printed, ()),
        (
            "Each step starts from the figures that the document prints for the step before, so that a slip shows "
            "where it happens and not in what follows.",
        ),
    )


def _assumption_lines(*, shifted: bool) -> tuple[str, ...]:
    return (
        msg(
            "One encoder and one decoder layer, d_model = 4, h = 2, d_k = d_v = 2, d_ff = 8; biases 0, gains 1, shifts "
            "0."
        ),
        msg("The decoder's self-attention, cross-attention and feed-forward network have the encoder's matrices."),
        msg("The embeddings are not multiplied by sqrt(d_model), which the document leaves out."),
        msg("The positions are the exact sines and cosines, not the document's shortened ones."),
        msg("The decoder's feed-forward network has a residual and a norm, as its other sub-layers have."),
        msg("The decoder reads the target shifted right by one, as the paper has it: <s> I love machine.")
        if shifted
        else msg("The decoder reads the target itself, as the document has it: I love machine learning."),
    )


def _steps(values: Values, printed: Mapping[str, Printed], target: tuple[str, ...]) -> list[Step]:
    """The steps that have values; inputs that have none are left out."""
    steps = []
    for one in given.STEPS:
        if one.name in values:
            code, source, axes = one.part
            inputs = tuple(name for name in one.inputs if name in values)
            judged = (printed[one.name],) if one.name in printed else ()
            value, labels = values[one.name], _labels(one, target)
            steps.append(Step(one.name, one.title, one.equation, value, axes, inputs, code, source, labels, judged))
    return steps


def _labels(shown: given.Pictured, target: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The words at each place: of the source in the encoder, of the decoder's input else, both in cross-attention."""
    if shown.name == "positions":
        return {}
    words = given.SOURCE_WORDS if shown.name.startswith(("source.", "encoder.")) else target
    keys = given.SOURCE_WORDS if shown.name.startswith("cross.") else words
    labels = {"position": words, "query": words, "key": keys, "vocabulary": given.VOCABULARY}
    return {axis: labels[axis] for axis in shown.part.axes if axis in labels}
