"""Chapter 8 of document 002 as traces: the exact chain, the same with shifted targets, and each step by itself."""

from collections.abc import Sequence

import numpy as np
import torch

from openwork.inspection.trace import Printed, Step, Trace
from openwork.study.documents import EXAMPLES
from openwork.study.documents import chapter_eight_given as given
from openwork.study.documents.chapter_eight import Values, chain, largest_probabilities, own_figures, toy_model
from openwork.study.documents.chapter_eight_steps import DECODER, ENCODER, OUTPUT, Pictured
from openwork.study.documents.verdicts import assumed, judged, slip

DOCUMENT = "002"

ASSUMPTIONS = assumed(
    "One encoder and one decoder layer, d_model = 4, h = 2, d_k = d_v = 2, d_ff = 8; biases 0, gains 1, shifts 0.",
    "The decoder's self-attention, cross-attention and feed-forward network have the encoder's matrices.",
    "The embeddings are not multiplied by sqrt(d_model), which the document leaves out.",
    "The positions are the exact sines and cosines, not the document's shortened ones.",
    "The decoder's feed-forward network has a residual and a norm, as its other sub-layers have.",
)
UNSHIFTED = assumed("The decoder reads the target itself, as the document has it: I love machine learning.")
SHIFTED = assumed("The decoder reads the target shifted right by one, as the paper has it: <s> I love machine.")
OWN = assumed(
    "Each step starts from the figures that the document prints for the step before, so that a slip shows where it "
    "happens and not in what follows."
)


def exact() -> Trace:
    """The chain with the document's own decoder input."""
    model = toy_model()
    values = chain(model)
    printed = _encoder_printed(values) | _decoder_printed(values)
    parts = (*ENCODER, *DECODER, *OUTPUT)
    steps = (*_steps(parts, values, printed, given.TARGET_WORDS), _bound(largest_probabilities(model)))
    return Trace("002-8", EXAMPLES["002-8"].title, steps, (*ASSUMPTIONS, *UNSHIFTED))


def shifted() -> Trace:
    """The chain with the decoder input that the paper would have."""
    steps = _steps((*ENCODER, *DECODER, *OUTPUT), chain(toy_model(), given.SHIFTED), {}, given.SHIFTED_WORDS)
    return Trace(
        "002-8-shifted",
        EXAMPLES["002-8-shifted"].title,
        steps,
        (*ASSUMPTIONS, *SHIFTED),
    )


def own() -> Trace:
    """Each encoder step from the document's figures before it."""
    values = own_figures(toy_model(torch.tensor(given.POSITIONS, dtype=torch.float64)))
    printed = {name: (_from_before(name, values[name]),) for name in given.ENCODER}
    parts = [shown for shown in ENCODER if shown.name in values]
    return Trace(
        "002-8-own-figures",
        EXAMPLES["002-8-own-figures"].title,
        _steps(parts, values, printed, ()),
        OWN,
    )


def _steps(
    parts: Sequence[Pictured], values: Values, printed: dict[str, tuple[Printed, ...]], target: tuple[str, ...]
) -> tuple[Step, ...]:
    names = {shown.name for shown in parts}
    return tuple(
        Step(
            shown.name,
            shown.title,
            shown.equation,
            values[shown.name],
            shown.axes,
            tuple(name for name in shown.inputs if name in names),
            shown.code,
            shown.source,
            _labels(shown, target),
            printed.get(shown.name, ()),
        )
        for shown in parts
    )


def _labels(shown: Pictured, target: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The words at each place: of the source in the encoder, of the decoder's input else, both in cross-attention."""
    if shown.name == "positions":
        return {}
    of_source = shown.name.startswith(("source.", "encoder."))
    words = given.SOURCE_WORDS if of_source else target
    keys = given.SOURCE_WORDS if shown.name.startswith("cross.") else words
    labels = {"position": words, "query": words, "key": keys, "vocabulary": given.VOCABULARY}
    return {axis: labels[axis] for axis in shown.axes if axis in labels}


def _encoder_printed(values: Values) -> dict[str, tuple[Printed, ...]]:
    """The document's figures, held against the exact chain at two decimals."""
    cut = slip("0.0099998 was shortened to 0.001 and not to 0.010, and so on down the column")
    found = {
        "positions": (judged("002, 8.1.3", values["positions"], given.POSITIONS, [0.01, 0.01, 0.001, 0.1], cut),),
        "source.embedding": (judged("002, 8.1.2", values["source.embedding"], given.SOURCE_EMBEDDING),),
    }
    for name, (section, figures, unit) in given.ENCODER.items():
        reason = OWN_SLIPS.get(name, INHERITED)
        found[name] = (judged(f"{DOCUMENT}, {section}", values[name], figures, max(unit, 0.01), reason),)
    return found


def _from_before(name: str, right: np.ndarray) -> Printed:
    section, figures, unit = given.ENCODER[name]
    slack = 3.0 if name == "encoder.scores" else 1.0  # divided by 1.414, and passed on to three decimals
    return judged(f"{DOCUMENT}, {section}", right, figures, unit, OWN_SLIPS.get(name, ROUNDED), slack=slack)


INHERITED = slip(
    "it follows from the document's own figures, but these are off since the positions: their third column is ten "
    "times too small"
)
ROUNDED = slip("calculated with rounded figures")
OWN_SLIPS = {
    "encoder.weights": slip("rows 2 and 3 are not the softmax of their scores: row 3 favours the lowest one"),
    "encoder.head1": slip("rows 2 and 3 follow from no weights that are printed"),
    "encoder.head2": slip("head 2 has the columns of head 1 in the other order, so its output is head 1's, swapped"),
    "encoder.norm1": slip("row 1 is off by one percent; rows 2 and 3 do not even have mean 0"),
    "encoder.feedforward": slip("W_2 keeps even and odd columns apart; the document fills all four with one value"),
    "encoder.output": slip("row 2 does not have mean 0, and row 3 not variance 1"),
}  # fmt: skip


def _decoder_printed(values: Values) -> dict[str, tuple[Printed, ...]]:
    """The document calls most of these examples; none of them follows from its matrices."""
    example = slip("an example of the document's that does not follow from its matrices")
    kept = np.where(np.isfinite(given.MASKED_SCORES), values["decoder.scores"], given.NEVER)
    return {
        "target.embedding": (judged("002, 8.1.2", values["target.embedding"], given.TARGET_EMBEDDING),),
        "target.input": (judged("002, 8.1.3", values["target.input"], given.TARGET_INPUT, 0.01, INHERITED),),
        "decoder.scores": (judged("002, 8.3.1", kept, given.MASKED_SCORES, 0.1, example),),
        "decoder.mask": (judged("002, 8.3.1", values["decoder.mask"], given.MASK),),
        "decoder.weights": (
            judged("002, 8.3.1", values["decoder.weights"], given.MASKED_WEIGHTS, 0.01,
                   slip("nor are they the softmax of the printed scores: they put 0.53 on 3.7 and 0.35 on 3.9")),
        ),
        "cross.weights": (judged("002, 8.3.2", values["cross.weights"], given.CROSS_WEIGHTS, 0.01, example),),
        "probabilities": (
            judged("002, 8.3.3", values["probabilities"], given.PROBABILITIES, 0.01,
                   slip("the printed rows add up to 1.03, 1.01, 1.02 and 1.04")),
        ),
        "prediction": (
            judged("002, 8.3.3", values["prediction"], given.TARGET,
                   reason=slip("the given matrices do not yield the target")),
        ),
        "bare.prediction": (
            judged("002, 8.3.3", values["bare.prediction"], given.TARGET,
                   reason=slip("nothing is negative here, so </s>, whose row has the largest entries, always wins")),
        ),
    }  # fmt: skip


def _bound(largest: np.ndarray) -> Step:
    reason = slip("three rows of W_e are constant, so their logits are 0 for any layer-normed vector")
    return Step(
        "bound",
        "The largest probability that any layer-normed vector can give each target token",
        "max over y of softmax(LayerNorm(y) W_e^T)",
        largest,
        ("position",),
        (),
        "openwork.study.documents.chapter_eight.largest_probabilities",
        "",
        {"position": given.TARGET_WORDS},
        (judged("002, 8.3.3", largest, given.CLAIMED, 0.01, reason),),
    )
