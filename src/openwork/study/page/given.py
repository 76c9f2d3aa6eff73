"""What the page of chapter 8 calculates from, and Python's value of each of its steps, both read from the model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from openwork.inspection.recorder import Recorder
from openwork.inspection.tracing import trace_forward
from openwork.models.seq2seq import Transformer
from openwork.nn.attention import MultiHeadAttention
from openwork.study.documents import chapter_eight_given as chapter
from openwork.study.documents.chapter_eight import toy_model

ENCODER, DECODER = "encoder.layers.0", "decoder.layers.0"
ATTENTION = {
    "encoder": f"{ENCODER}.self_attention",
    "decoder": f"{DECODER}.self_attention",
    "cross": f"{DECODER}.cross_attention",
}
FEEDFORWARD = {"encoder": f"{ENCODER}.feedforward", "decoder": f"{DECODER}.feedforward"}
NORMS = {
    "encoder.norm1": f"{ENCODER}.attention_wiring.norm",
    "encoder.output": f"{ENCODER}.feedforward_wiring.norm",
    "decoder.norm1": f"{DECODER}.self_wiring.norm",
    "decoder.norm2": f"{DECODER}.cross_wiring.norm",
    "decoder.output": f"{DECODER}.feedforward_wiring.norm",
}
RESIDUALS = {
    "encoder.sum1": f"{ENCODER}.attention_wiring.residual",
    "encoder.sum2": f"{ENCODER}.feedforward_wiring.residual",
    "decoder.sum1": f"{DECODER}.self_wiring.residual",
    "decoder.sum2": f"{DECODER}.cross_wiring.residual",
    "decoder.sum3": f"{DECODER}.feedforward_wiring.residual",
}
BY_HEAD = ("products", "scores", "masked", "weights", "heads")

Arrays = dict[str, np.ndarray]


def given_values(target: Sequence[int]) -> Arrays:
    """What the page's calculation starts from, each a matrix: name -> (rows, columns).

    Weights as the document multiplies them, from the right; the mask has 1 where a position may attend.

    Args:
        target: the tokens that the decoder reads.
    """
    model = toy_model()
    parameters = {name: one.detach().numpy() for name, one in model.named_parameters()}
    factor: Any = model.decoder.layers[0]
    found: Arrays = {
        "embedding": np.array(chapter.EMBEDDING),
        "source.ids": np.array([chapter.SOURCE]).T,
        "target.ids": np.array([target]).T,
        "positions.on": np.ones((1, 1)),
        "factor": np.full((1, 1), factor.self_attention.scale),
        "mask.bits": np.tri(len(target)),
    }
    for prefix, name in ATTENTION.items():
        for letter, part in ("q", "query"), ("k", "key"), ("v", "value"), ("o", "output"):
            found[f"{prefix}.W_{letter}"] = parameters[f"{name}.{part}.weight"].T
    for prefix, name in FEEDFORWARD.items():
        for number, part in (1, "expand"), (2, "contract"):
            found[f"{prefix}.W_{number}"] = parameters[f"{name}.{part}.weight"].T
            found[f"{prefix}.b_{number}"] = parameters[f"{name}.{part}.bias"][None]
    for step, name in NORMS.items():
        found[f"{step}.gain"], found[f"{step}.shift"] = (
            parameters[f"{name}.{part}"][None] for part in ("weight", "bias")
        )
    return found


def forward_values(target: Sequence[int]) -> Arrays:
    """Python's values of the steps that the page shows and the example's trace leaves out, in float64.

    Args:
        target: the tokens that the decoder reads.
    """
    model = toy_model()
    recorder = Recorder({"source": chapter.SOURCE_WORDS, "target": [chapter.VOCABULARY[token] for token in target]})
    trace_forward(model, recorder, chapter.SOURCE, target)
    traced = {step.name: step.value for step in recorder.steps}
    found: Arrays = {}
    for prefix, name in ATTENTION.items():
        found |= _attention(prefix, name, traced)
    found |= {step: traced[name] for step, name in (NORMS | RESIDUALS).items()}
    for prefix, name in FEEDFORWARD.items():
        found[f"{prefix}.expanded"], found[f"{prefix}.activated"] = (
            traced[f"{name}.{part}"] for part in ("expand", "activation")
        )
    return found | {"bare.logits": _bare_logits(model, traced[f"{FEEDFORWARD['decoder']}.contract"])}


def _attention(prefix: str, name: str, traced: Arrays) -> Arrays:
    """The values of one attention under the page's names: head 1's without a number, but for what the heads give."""
    found = {f"{prefix}.{part}": _side_by_side(traced[f"{name}.{part}"]) for part in ("query", "key", "value")}
    for part in BY_HEAD:
        for head, value in enumerate(traced.get(f"{name}.{part}", ()), start=1):
            number = str(head) if head > 1 or part == "heads" else ""
            found[f"{prefix}.{part.removesuffix('s') if part == 'heads' else part}{number}"] = value
    return found | {f"{prefix}.joined": _side_by_side(traced[f"{name}.heads"])}


def _side_by_side(heads: np.ndarray) -> np.ndarray:
    return MultiHeadAttention.join(torch.from_numpy(heads)[None])[0].numpy()


def _bare_logits(model: Transformer, feedforward: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model.project(torch.from_numpy(feedforward)).numpy()
