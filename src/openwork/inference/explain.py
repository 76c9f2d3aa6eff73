"""Explanation of a translation, or of a picture's label: every step of the model with its numbers."""

from collections.abc import Sequence

import torch
from torch import Tensor

from openwork.base.messages import msg
from openwork.base.phrases import Beside
from openwork.bundles.bundle import Bundle
from openwork.decoding.rescore import score_tokens, token_log_probabilities
from openwork.decoding.scoring import allow, best_tokens, log_normaliser
from openwork.inference.explainable import check_transformer, translation_to_explain
from openwork.inference.picture_trace import explain_picture
from openwork.inspection.recorder import Recorder, StepKind
from openwork.inspection.trace import Selection, Trace, select
from openwork.inspection.tracing import trace_forward
from openwork.signals.pictures import Picture
from openwork.text.tokenizer import Tokenizer

LIKELY = 3  # pieces of each position that are named
ASSUMPTIONS = (
    msg("The target is the model's own translation; the decoder is given it whole, one place later (teacher forcing)."),
    msg("The numbers are those of the model in float64; in translating it computes in float32."),
    msg("No dropout: it is for training alone."),
    msg("Padding, unknown and start cannot be chosen; the probabilities of all other pieces add up to 1."),
)

_POSITIONS = ("position",)
PROBABILITIES = StepKind(
    "The probability of each piece of the vocabulary",
    "softmax(logits) over the pieces that may come",
    ("position", "vocabulary"),
    log_normaliser,
    "Vaswani et al. 2017, section 3.4",
)
LIKELIEST = StepKind(
    "The same for pieces that are among the most probable somewhere, or chosen",
    "columns of the probabilities",
    ("position", "piece"),
    best_tokens,
)
CHOSEN = StepKind("The piece that the search chose, as a number", "id", _POSITIONS, None)
LOG_PROBABILITIES = StepKind(
    "The log-probability of each chosen piece, in nats", "ln p(piece)", _POSITIONS, token_log_probabilities
)
TOTAL = StepKind("The log-probability of the whole translation, in nats", "sum of ln p(piece)", (), score_tokens)


def explain(bundle: Bundle, source: Picture, selection: Selection) -> Trace:
    """The trace of the bundle's own translation of a text, by teacher forcing, or of its label of a picture.

    UsageError: nothing to translate, a model without such steps, no such layer or head. DataError: no such picture.
    """
    if bundle.settings.picture is not None:
        return explain_picture(bundle, source, selection)
    return _explain_text(bundle, str(source), selection)


def _explain_text(bundle: Bundle, text: str, selection: Selection) -> Trace:
    model, target = check_transformer(bundle), bundle.tokenizers.target
    translation = translation_to_explain(bundle, text)
    ((source, _),) = bundle.tokenizers.encode_sources([text])
    source = [*source, bundle.tokenizers.source.end_id]
    output = [*translation.pieces, *[target.end_id] * translation.finished]
    given = [target.start_id, *output[:-1]]
    recorder = Recorder({"source": _names(bundle.tokenizers.source, source), "target": _names(target, given)})
    logits = trace_forward(model, recorder, source, given)
    _note_choice(recorder, logits, output, target)
    steps = select(recorder.steps, recorder.inner, selection)
    return Trace("translation", Beside(text, translation.text), steps, ASSUMPTIONS)


def _names(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(map(tokenizer.piece, ids))


def _note_choice(recorder: Recorder, logits: Tensor, output: Sequence[int], target: Tokenizer) -> None:
    """Records the steps from the logits to the chosen pieces. A row is named by its input and output."""
    outputs = _names(target, output)
    rows = {"position": tuple(f"{a}→{b}" for a, b in zip(recorder.pieces["target"], outputs, strict=True))}
    allowed = allow(logits)
    probabilities = (allowed - log_normaliser(allowed)).exp()
    everything = _names(target, range(logits.shape[-1]))
    recorder.note("probabilities", PROBABILITIES, probabilities, [logits], labels={**rows, "vocabulary": everything})
    _, best = best_tokens(allowed[0], LIKELY)
    # in the order of the positions where they matter
    likely = list(dict.fromkeys(piece for row, own in zip(best.tolist(), output, strict=True) for piece in (own, *row)))
    recorder.note(
        "likeliest", LIKELIEST, probabilities[..., likely], ["probabilities"],
        labels={**rows, "piece": _names(target, likely)},
    )  # fmt: skip
    chosen = torch.tensor([list(output)])
    recorder.note("chosen", CHOSEN, chosen, labels=rows)
    terms = token_log_probabilities(logits, chosen)
    recorder.note("log_probabilities", LOG_PROBABILITIES, terms, [logits, "chosen"], labels=rows)
    recorder.note("log_probability", TOTAL, terms.sum(-1), ["log_probabilities"])
