"""Explanation of a picture's label: the patches that each head attends to, attention rollout, and every step."""

import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.messages import msg
from openwork.base.phrases import Beside
from openwork.bundles.bundle import Bundle
from openwork.inference.explainable import check_reader_of_pictures
from openwork.inference.labeller import most_probable
from openwork.inspection.recorder import Recorder, StepKind
from openwork.inspection.trace import GRID, Selection, Trace, select
from openwork.inspection.tracing import trace_label
from openwork.models.settings import VisionSettings
from openwork.signals.patches import PicturePatches, cut
from openwork.signals.pictures import Picture, read_picture

ASSUMPTIONS = (
    msg("The numbers are those of the model in float64; in labelling it computes in float32."),
    msg("No dropout: it is for training alone."),
    msg("The probabilities of all labels add up to 1."),
    msg("Attention says what a vector is made from. It does not say which patches decide the label."),
)
WEIGHTS = ".self_attention.weights"  # how the steps of the encoder's attention weights end


def reading_weights(weights: Float[Tensor, "head query key"], pooling: str) -> Float[Tensor, "head key"]:
    """What the vector that the label is predicted from takes from each position: the class token's row, or the mean of
    the patches' rows.
    """
    return weights[:, 0] if pooling == "class" else weights[:, 1:].mean(dim=1)


def rollout(layers: list[Float[Tensor, "head query key"]]) -> Float[Tensor, "query key"]:
    """How much of each position's input is in each position's output: A_L ... A_1 with A = (mean of heads + I) / 2.

    The identity is the residual connection, which is taken to pass on as much as attention (Abnar and Zuidema 2020,
    section 3).
    """
    together = torch.eye(layers[0].shape[-1], dtype=layers[0].dtype)
    for weights in layers:
        mixed = (weights.mean(dim=0) + torch.eye(weights.shape[-1], dtype=weights.dtype)) / 2
        together = mixed @ together
    return together


PROBABILITIES = StepKind(
    "The probability of each label, the most probable first", "softmax(logits) over the labels", ("label",),
    most_probable, "Vaswani et al. 2017, section 3.4",
)  # fmt: skip
ROLLOUT = StepKind(
    "Attention rollout: how much of each patch is in the vector that the label is predicted from, if attention and "
    "residual connection pass on equally much in every layer",
    "A_L ... A_1, A = (mean of heads + I) / 2", GRID, rollout, "Abnar and Zuidema 2020, section 3",
)  # fmt: skip
ON_PATCHES = {
    "class": StepKind(
        "Attention of the class token to the patches, as they lie in the picture", "weights[class, patch]",
        ("head", *GRID), reading_weights, "Dosovitskiy et al. 2021, section 4.5",
    ),
    "mean": StepKind(
        "Attention to the patches, as they lie in the picture; the mean over all patches that attend",
        "mean of weights[patch, patch]", ("head", *GRID), reading_weights, "Dosovitskiy et al. 2021, section 4.5",
    ),
}  # fmt: skip


def explain_picture(bundle: Bundle, picture: Picture, selection: Selection) -> Trace:
    """The trace of the label of a picture. Without a layer and `every`, the label and the attention to the patches.

    UsageError for a model without attention, and for a layer or head that it has not; DataError: no such picture.
    """
    model, encoder, settings = check_reader_of_pictures(bundle), bundle.tokenizers.encoder, bundle.settings.model
    assert isinstance(encoder, PicturePatches) and isinstance(settings, VisionSettings), "it reads pictures"
    pixels, (rows, columns) = read_picture(picture, encoder.settings), encoder.settings.grid
    patches = tuple(f"{row},{column}" for row in range(rows) for column in range(columns))
    recorder = Recorder({"source": ("class", *patches), "target": ()})
    numbers = encoder.settings.form.read(cut(pixels, encoder.settings.patch))
    logits = trace_label(model, recorder, torch.from_numpy(numbers))
    (choices,) = most_probable(logits, logits.shape[-1], bundle.tokenizers.target.piece)
    names, probabilities = zip(*((one.label, one.probability) for one in choices), strict=True)
    recorder.inner |= {step.name for step in recorder.steps}
    value = torch.tensor([probabilities], dtype=torch.float64)
    recorder.note("probabilities", PROBABILITIES, value, ["logits"], labels={"label": names})

    found = {step.name: torch.from_numpy(step.value) for step in recorder.steps if step.name.endswith(WEIGHTS)}
    for name, weights in found.items():
        shown = reading_weights(weights, settings.pooling)[:, 1:].unflatten(1, (rows, columns))
        recorder.note(name.removesuffix("weights") + "on_patches", ON_PATCHES[settings.pooling], shown[None], [name])
    through = reading_weights(rollout(list(found.values()))[None], settings.pooling)[:, 1:]
    recorder.note("rollout", ROLLOUT, through.unflatten(1, (rows, columns)), list(found))
    title = Beside(picture if isinstance(picture, str) else "picture", names[0])
    steps = select(recorder.steps, recorder.inner, selection)
    return Trace("picture", title, steps, ASSUMPTIONS, picture=pixels)
