"""What several toolkits mean alike, and where their meaning differs from ours; each said in one place."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import get_args

from openwork.migration.draft import Draft
from openwork.migration.options import Reader, boolean, integer
from openwork.training.settings import OptimiserName

_SEGMENTED = re.compile(r"\b(bpe|spm?|sp|tok|tokenized|tokenised|tc|subwords?|pieces)\d*k?\b|@@", re.IGNORECASE)

SEGMENTED = "openwork reads plain text and cuts it itself: name the files as they were before tokenising and segmenting"
OUTSIDE = "where files are written is said on the command line: openwork train RUN.toml --out FOLDER"
TESTS = "what is translated or tested is said on the command line: openwork translate, openwork evaluate"
FOREIGN_WEIGHTS = "openwork's weights are its own: those of other toolkits cannot be loaded"
AT_VALIDATION = "openwork saves a checkpoint at each validation"
ONE_DEVICE = "openwork trains on one device"
OWN_READING = "openwork reads, shuffles and batches by itself"
OWN_PROGRESS = "openwork shows the progress in one way, and writes it to the run's record"
NO_SUCH_PART = "openwork has no such part"


def one_for_both(draft: Draft, key: str, names: Sequence[str], read: Reader) -> None:
    """A key of ours that holds for both sides (or stacks), from an option of theirs for each."""
    first, second = (draft.value(name, read) for name in names)
    if first is not None and second is not None and first != second:
        note = f"{first} for one side and {second} for the other there; openwork has one value for both"
        draft.set(key, first, *names, note=note)
    else:
        draft.set(key, second if first is None else first, *names)


def power_penalty(draft: Draft, name: str, alpha: float | None, *names: str) -> None:
    """A length penalty that divides by length^alpha, where the paper's divides by ((5 + length) / 6)^alpha."""
    if alpha is None:
        return
    if alpha < 0:
        draft.mind(name, "openwork's length penalty is never negative")
        return
    draft.set("decoding.length_penalty", float(alpha), name, *names)
    if alpha:
        draft.set("decoding.length_rule", "power", name, *names)


def half_precision(draft: Draft, name: str) -> None:
    """Training in float16, which openwork does not have."""
    if draft.given(name) and draft.value(name, boolean):
        note = "openwork computes in float32 or bfloat16, never in float16, and needs no scaling of the loss"
        draft.set("training.precision", "bfloat16", name, note=note)


def optimiser(draft: Draft, option: str, name: str, known: Mapping[str, str], note: str = "") -> None:
    """The optimiser called `name` there, and by the value of `known` here."""
    if name in known:
        draft.set("training.optimiser", known[name], option, note=note)
    else:
        draft.missing(option, f"openwork has {', '.join(get_args(OptimiserName))}, not {name}")


def weight_decay(draft: Draft, option: str, decay: float, name: str) -> None:
    """The share that an update takes from the weights, for toolkits whose decoupled decay is adamw's alone."""
    if decay and name == "adamw":
        draft.set("training.weight_decay", decay, option)
    elif decay:
        draft.missing(option, "added to the gradient there; openwork decays weights with adamw alone")
    else:
        draft.same(option, "no decay")


def tying(draft: Draft, *, all_three: bool, target: bool, sides: bool, names: Sequence[str]) -> None:
    """Which embeddings are one: source with target (`sides`), target with output (`target`), or all three."""
    if all_three or (sides and target):
        draft.set("model.tying", "three-way", *names)
        draft.set("text.shared", True, *names)
    elif target:
        draft.set("model.tying", "target", *names)
    elif sides:
        note = (
            "source and target embeddings are one there and the output matrix is not; openwork ties all three or none"
        )
        draft.set("model.tying", "three-way", *names, note=note)
    else:
        draft.set("model.tying", "none", *names)


def text_file(draft: Draft, key: str, path: str | None, *names: str) -> None:
    """A file of plain text; what looks as if it had been cut into tokens or pieces is said."""
    if not path:
        return
    name = re.split(r"[\\/]", path)[-1]
    draft.set(key, path, *names, note=SEGMENTED if _SEGMENTED.search(name.replace("_", " ")) else "")


def no_text_files(draft: Draft, source: str | None, target: str | None, why: str) -> None:
    """Names that stand for the user's files where the configuration has none."""
    if not any(draft.holds(f"data.{key}") for key in ("source", "tsv", "mix")):
        draft.to_do.append(f"name your text files in [data] of the run file: {why}")
        draft.say("data.source", f"YOUR-TRAINING-TEXT.{source or 'source'}", "a placeholder", why)
        draft.say("data.target", f"YOUR-TRAINING-TEXT.{target or 'target'}", "a placeholder", why)


def steps(draft: Draft, updates: str | None, epochs: str | None, usual: str) -> None:
    """How long a training lasts: ours is counted in updates."""
    count = draft.value(updates, integer, 0) if updates else 0
    if updates and count > 0:
        draft.set("training.steps", count, updates)
        if epochs:
            draft.mind(epochs, "openwork counts in updates; the limit in updates is taken")
        return
    if updates:
        draft.same(updates, "no limit there either")
    if epochs and draft.given(epochs):
        note = "openwork counts in updates: training.steps = epochs x (target tokens of the corpus / tokens of a batch)"
        draft.mind(epochs, note)
        usual = f"{draft.toolkit}'s limit is counted in epochs"
    draft.to_do.append(f"choose training.steps ({draft.holds('training.steps'):,} so far): {usual}")


def sentence_piece(draft: Draft, source: str, target: str | None, *names: str) -> None:
    """SentencePiece models, which openwork can use as they are."""
    draft.set("text.source_file", source, *names)
    if target is not None and target != source:
        draft.set("text.target_file", target, *names)
        draft.set("text.shared", False, *names)


def sampling(draft: Draft, name: str, probability: float | None) -> None:
    """BPE-dropout, or the alpha of unigram sampling."""
    if not draft.given(name):
        return
    if not probability:
        draft.set("text.sampling", probability, name)
    elif draft.holds("text.source_file") is not None:
        draft.missing(name, "openwork varies the pieces that it has learnt itself, not those of a tokenizer's file")
    else:
        note = "anew in each epoch there; text.samplings versions of the corpus here"
        draft.set("text.sampling", probability, name, note=note)


def vocabulary_size_unknown(draft: Draft) -> None:
    """The options do not say how many pieces there are: they were made before."""
    draft.to_do.append(
        f"choose text.vocabulary_size ({draft.holds('text.vocabulary_size'):,} so far): about the size of the one that "
        f"was made for {draft.toolkit}, which its options do not say"
    )


def besides(draft: Draft, *, patience: bool) -> None:
    """What openwork does at the end of a training and the other toolkit does not unless told."""
    average = draft.holds("training.average")
    draft.remarks.append(f"openwork's model is the mean of {average} checkpoints; training.average = 1 takes one alone")
    if not patience:
        stalled = draft.holds("training.patience")
        draft.remarks.append(f"openwork also stops after {stalled} validations without a gain (training.patience)")


def checkpoints_of_best(draft: Draft, metric: str, name: str, *names: str) -> None:
    """The figure that decides what is best."""
    known = {"bleu": "bleu", "chrf": "bleu", "loss": "loss", "ppl": "loss", "perplexity": "loss", "nll_loss": "loss"}
    known |= {"cross-entropy": "loss", "ce-mean-words": "loss", "ce-mean": "loss", "ce-sum": "loss", "acc": "loss"}
    known |= {"bleu-detok": "bleu", "bleu-segmented": "bleu", "translation": "bleu", "accuracy": "loss"}
    if metric not in known:
        draft.mind(name, f"openwork chooses by loss, bleu or exact, not by {metric}")
        return
    note = (
        ""
        if metric not in ("chrf", "acc", "accuracy")
        else f"openwork does not choose by {metric}; this is the nearest"
    )
    draft.set("training.metric", known[metric], name, *names, note=note)


def length_ratio(draft: Draft, factor: float, plus: float, *names: str) -> None:
    """A longest target of factor x source + plus, where ours is source + extra_length."""
    if math.isclose(factor, 1.0):
        draft.set("decoding.extra_length", int(plus), *names)
        return
    note = (
        f"a target may have {factor:g} x the source's tokens + {plus:g} there, the source's + extra_length here; "
        "the value is that of a source of 40 tokens"
    )
    draft.set("decoding.extra_length", max(0, round((factor - 1) * 40 + plus)), *names, note=note)
