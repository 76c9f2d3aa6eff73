"""Options that several toolkits share, and how openwork's counterparts differ in meaning."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import get_args

from openwork.base.messages import msg
from openwork.base.phrases import Joined
from openwork.migration.draft import Draft
from openwork.migration.options import Reader, integer, numbers
from openwork.training.settings import OptimiserName

_SEGMENTED = re.compile(r"\b(bpe|spm?|sp|tok|tokenized|tokenised|tc|subwords?|pieces)\d*k?\b|@@", re.IGNORECASE)

SEGMENTED = msg(
    "openwork reads plain text and cuts it itself: name the files as they were before tokenising and segmenting"
)
# The metrics that toolkits choose checkpoints by -> openwork's.
METRICS = {
    **dict.fromkeys(("loss", "ppl", "perplexity", "nll_loss", "acc", "accuracy"), "loss"),
    **dict.fromkeys(("cross-entropy", "ce-mean-words", "ce-mean", "ce-sum"), "loss"),
    **dict.fromkeys(("bleu", "chrf", "bleu-detok", "bleu-segmented", "translation"), "bleu"),
}


def one_for_both(draft: Draft, key: str, names: Sequence[str], read: Reader) -> None:
    """A key that holds for both sides (or stacks), from an option for each."""
    first, second = (draft.value(name, read) for name in names)
    differ = first is not None and second is not None and first != second
    note = (
        msg(f"{first} for one side and {second} for the other there; openwork has one value for both") if differ else ""
    )
    draft.set(key, second if first is None else first, *names, note=note)


def power_penalty(draft: Draft, name: str, alpha: float | None, *names: str) -> None:
    """A length penalty that divides by length^alpha, where the paper's divides by ((5 + length) / 6)^alpha."""
    if alpha is None:
        return
    if alpha < 0:
        draft.warn(name, "openwork's length penalty is never negative")
        return
    draft.set("decoding.length_penalty", float(alpha), name, *names)
    if alpha:
        draft.set("decoding.length_rule", "power", name, *names)


def optimiser(draft: Draft, option: str, name: str, known: Mapping[str, str], note: str = "") -> None:
    """The optimiser called `name` there, and by the value of `known` here."""
    reason = msg(f"openwork has {', '.join(get_args(OptimiserName))}, not {name}")
    draft.choose("training.optimiser", name, known, reason, option, note=note)


def betas(draft: Draft, name: str) -> None:
    for key, value in zip(("beta1", "beta2"), draft.value(name, numbers, []), strict=False):
        draft.set(f"training.{key}", value, name)


def weight_decay(draft: Draft, option: str, decay: float, name: str) -> None:
    """The share that an update takes from the weights, for toolkits whose decoupled decay is adamw's alone."""
    if decay and name == "adamw":
        draft.set("training.weight_decay", decay, option)
    else:
        reason = msg("added to the gradient there; openwork decays weights with adamw alone")
        draft.same(option, "no decay", not decay, missing=reason)


def moving_average(draft: Draft, name: str, share: float) -> None:
    """A moving average of the weights, given as the share of the newest ones."""
    draft.set("training.ema", float(f"{1 - share:.9g}") if share else 0.0, name)


def peak_rate(rate: float, warmup: int) -> float:
    """The highest rate of a schedule that is `rate` / sqrt(step) after the warm-up."""
    return float(f"{rate / math.sqrt(max(warmup, 1)):.6g}")


def sentence_batches(draft: Draft, sentences: int, *names: str, more: str = "") -> None:
    """Batches counted in sentences; `more` is a further note."""
    note = msg("sentences there, tokens here: the value is that of 25 tokens a sentence")
    note = Joined(note, "; ", more) if more else note
    draft.set("batches.tokens", sentences * 25, *names, note=note)


def tying(draft: Draft, *, all_three: bool, target: bool, sides: bool, names: Sequence[str]) -> None:
    """Which embeddings are one: source with target (`sides`), target with output (`target`), or all three."""
    if all_three or (sides and target):
        draft.set("model.tying", "three-way", *names)
        draft.set("text.shared", True, *names)
    elif sides:
        note = msg(
            "source and target embeddings are one there and the output matrix is not; openwork ties all three or none"
        )
        draft.set("model.tying", "three-way", *names, note=note)
    else:
        draft.set("model.tying", "target" if target else "none", *names)


def text_file(draft: Draft, key: str, path: str | None, *names: str) -> None:
    """A file of plain text, with a note where it looks as if it had been cut into tokens or pieces."""
    if not path:
        return
    name = re.split(r"[\\/]", path)[-1]
    draft.set(key, path, *names, note=SEGMENTED if _SEGMENTED.search(name.replace("_", " ")) else "")


def text_files(draft: Draft, prefix: str, path: str, languages: Sequence[str], name: str) -> None:
    """The files of both sides, whose names end in their languages."""
    for side, language in zip(("source", "target"), languages, strict=True):
        text_file(draft, f"{prefix}{side}", f"{path}.{language}", name)


def no_text_files(draft: Draft, source: str | None, target: str | None, why: str) -> None:
    """Names that stand for the user's files where the configuration has none."""
    if not any(draft.current(f"data.{key}") for key in ("source", "tsv", "mix")):
        draft.to_do.append(msg(f"name your text files in [data] of the run file: {why}"))
        for side, language in (("source", source), ("target", target)):
            draft.add(f"data.{side}", f"YOUR-TRAINING-TEXT.{language or side}", msg("a placeholder"), why)


def steps(draft: Draft, updates: str | None, epochs: str | None, usual: str) -> None:
    """How long a training lasts, which openwork counts in updates."""
    count = draft.value(updates, integer, 0) if updates else 0
    if updates and count > 0:
        draft.set("training.steps", count, updates)
        if epochs:
            draft.warn(epochs, "openwork counts in updates; the limit in updates is taken")
        return
    if updates:
        draft.same(updates, "no limit")
    if epochs and draft.given(epochs):
        note = msg(
            "openwork counts in updates: training.steps = epochs x (target tokens of the corpus / tokens of a batch)"
        )
        draft.warn(epochs, note)
        usual = msg(f"{draft.toolkit}'s limit is counted in epochs")
    draft.to_do.append(msg(f"choose training.steps ({draft.current('training.steps'):,} so far): {usual}"))


def sentence_piece(draft: Draft, source: str, target: str | None, *names: str) -> None:
    """SentencePiece models, which openwork can use as they are."""
    draft.set("text.source_file", source, *names)
    if target is not None and target != source:
        draft.set("text.target_file", target, *names)
        draft.set("text.shared", False, *names)


def embedding_dropout(draft: Draft, name: str, is_same: bool) -> None:
    """A dropout of the embeddings, which here is the model's."""
    missing = msg("openwork's model.dropout is also that of the embeddings")
    draft.same(name, "model.dropout is also that of the embeddings", is_same, missing=missing)


def sampling(draft: Draft, name: str, probability: float | None) -> None:
    """BPE-dropout, or the alpha of unigram sampling."""
    if not draft.given(name):
        return
    if probability and draft.current("text.source_file") is not None:
        draft.missing(name, "openwork varies the pieces that it has learnt itself, not those of a tokenizer's file")
    else:
        note = msg("anew in each epoch there; text.samplings versions of the corpus here") if probability else ""
        draft.set("text.sampling", probability, name, note=note)


def vocabulary_size_unknown(draft: Draft) -> None:
    """The options do not say how many pieces there are: they were made before."""
    draft.to_do.append(
        msg(
            f"choose text.vocabulary_size ({draft.current('text.vocabulary_size'):,} so far): about the size of the "
            f"one that was made for {draft.toolkit}, which its options do not say"
        )
    )


def other_endings(draft: Draft, *, patience: bool) -> None:
    """What openwork does at the end of a training and the other toolkit does only on request."""
    average = draft.current("training.average")
    draft.remarks.append(
        msg(f"openwork's model is the mean of {average} checkpoints; training.average = 1 takes one alone")
    )
    if not patience:
        stalled = draft.current("training.patience")
        draft.remarks.append(msg(f"openwork also stops after {stalled} validations without a gain (training.patience)"))


def validation_metric(draft: Draft, metric: str, name: str) -> None:
    """The metric that decides which checkpoint is best."""
    if metric not in METRICS:
        draft.warn(name, f"openwork chooses by loss, bleu or exact, not by {metric}")
        return
    near = metric in ("chrf", "acc", "accuracy")
    note = msg(f"openwork does not choose by {metric}; this is the nearest") if near else ""
    draft.set("training.metric", METRICS[metric], name, note=note)


def length_ratio(draft: Draft, factor: float, plus: float, *names: str) -> None:
    """A longest target of factor x source + plus, where openwork's is source + extra_length."""
    if math.isclose(factor, 1.0):
        draft.set("decoding.extra_length", int(plus), *names)
        return
    note = msg(
        f"a target may have {factor:g} x the source's tokens + {plus:g} there, the source's + extra_length here; "
        "the value is that of a source of 40 tokens"
    )
    draft.set("decoding.extra_length", max(0, round((factor - 1) * 40 + plus)), *names, note=note)
