"""Sockeye's command lines (sockeye-train and its kin) and argument files in YAML, read from its version 3.1."""

from collections.abc import Callable
from typing import Any

from openwork.base.messages import msg
from openwork.migration import equivalents
from openwork.migration.draft import Draft
from openwork.migration.options import Reader, Value, boolean, integer, number, text, words
from openwork.migration.rules import read_toolkit

NORMS = ("transformer-preprocess", "transformer-postprocess")
ACTIVATIONS = ("transformer-activation-type", "transformer-feed-forward-use-glu")
POSITIONS = "transformer-positional-embedding-type"
SHARED = ("shared-vocab", "prepare.shared-vocab")
SIZES = ("num-words", "prepare.num-words")
BATCHES = {
    "word": msg("target tokens there, about; positions of the longer side here, padding included"),
    "max-word": msg("target tokens there; positions of the longer side here, padding included"),
}


def pair(read: Callable[[Value], Any]) -> Reader:
    """Two values for encoder and decoder (or source and target): 6:6, one for both, or a list."""

    def both(value: Value) -> tuple[Any, Any]:
        parts = words(value) if isinstance(value, list) else str(value).split(":")
        if not parts:
            raise ValueError("an empty list has no value")
        return read(parts[0]), read(parts[-1])

    return both


def _model(draft: Draft) -> None:
    layers = draft.value("num-layers", pair(integer), (6, 6))
    draft.set("model.encoder_layers", layers[0], "num-layers")
    draft.set("model.decoder_layers", layers[1], "num-layers")
    for key, name, read in (
        ("width", "transformer-model-size", integer),
        ("heads", "transformer-attention-heads", integer),
        ("feedforward_width", "transformer-feed-forward-num-hidden", integer),
        ("dropout", "transformer-dropout-prepost", number),
        ("attention_dropout", "transformer-dropout-attention", number),
        ("feedforward_dropout", "transformer-dropout-act", number),
    ):
        if found := draft.value(name, pair(read)):
            note = "" if found[0] == found[1] else msg("one value for both here: the first is taken")
            draft.set(f"model.{key}", found[0], name, note=note)


def _embeddings(draft: Draft) -> None:
    width = draft.current("model.width")
    sizes = draft.value("num-embed", pair(integer), (width, width))
    if sizes == (width, width):
        draft.same("num-embed", "embeddings are as wide as the model")
    else:
        note = "" if sizes[0] == sizes[1] else msg("one value for both here: the source's is taken")
        draft.set("model.embedding_width", sizes[0], "num-embed", note=note)
    is_same = draft.value("embed-dropout", pair(number), (0.0, 0.0)) == (draft.current("model.dropout"),) * 2
    equivalents.embedding_dropout(draft, "embed-dropout", is_same)
    positions = draft.value(POSITIONS, text, "fixed")
    kinds = {"fixed": "sinusoidal", "learned": "learned", "none": "none"}
    draft.set("model.positions", kinds.get(positions), POSITIONS)
    longest = draft.value("max-seq-len", pair(integer), (95, 95))
    if positions == "learned":
        draft.set("model.maximum_length", max(longest) + 1, "max-seq-len")
    note = msg("longer pairs are left out there, by tokens; openwork's filters count characters (filters.*)")
    draft.warn("max-seq-len", note)
    name = "weight-tying-type"
    weights = draft.value(name, text, "src_trg_softmax")
    sides = "src_trg" in weights
    equivalents.tying(draft, all_three=False, target="softmax" in weights, sides=sides, names=(name,))
    if sides:
        draft.same(SHARED, "one vocabulary for both languages")
    else:
        draft.set("text.shared", draft.first(boolean, *SHARED, otherwise=False), *SHARED)


def _feedforward(draft: Draft) -> None:
    activations = draft.value(ACTIVATIONS[0], pair(text), ("relu", "relu"))
    gated = draft.value(ACTIVATIONS[1], boolean, False)
    kinds = {"relu": "reglu", "gelu": "geglu", "swish1": "swiglu"} if gated else {"relu": "relu", "gelu": "gelu"}
    note = "" if activations[0] == activations[1] else msg("one value for both here: the first is taken")
    reason = msg(f"openwork's feed-forward network has no {activations[0]} without a gate")
    draft.choose("model.feedforward", activations[0], kinds, reason, *ACTIVATIONS, note=note)


def _norm(draft: Draft) -> None:
    before, after = (
        "n" in draft.value(name, pair(text), (usual, usual))[0] for name, usual in zip(NORMS, ("n", "dr"), strict=True)
    )
    note = msg("openwork normalises either before (pre) or after (post) a sub-layer") if before == after else ""
    draft.set("model.norm", "pre" if before else "post", *NORMS, note=note)


def _data(draft: Draft) -> None:
    for name in ("source", "target"):
        path = draft.first(text, name, f"prepare.{name}")
        equivalents.text_file(draft, f"data.{name}", path, name, f"prepare.{name}")
        path = draft.value(f"validation-{name}", text)
        equivalents.text_file(draft, f"data.valid_{name}", path, f"validation-{name}")
    equivalents.no_text_files(draft, None, None, msg("Sockeye's prepared data holds ids, not text"))
    count = draft.first(pair(integer), *SIZES, otherwise=(0, 0))[0]
    if count:
        draft.set("text.vocabulary_size", count, *SIZES)
    else:
        equivalents.vocabulary_size_unknown(draft)
        draft.warn(SIZES, "no limit there; openwork learns at most text.vocabulary_size pieces")


def _learning(draft: Draft) -> None:
    schedule = draft.value("learning-rate-scheduler-type", text, "plateau-reduce")
    rate, warmup = draft.value("initial-learning-rate", number, 0.0002), draft.value("learning-rate-warmup", integer, 0)
    known, differs, note = {"linear-decay": "linear", "none": "constant"}, "", ""
    if schedule == "inv-sqrt-decay":
        known = {schedule: "inverse-square-root"}
        note = msg(f"a factor there; the peak is {rate:g} / sqrt({max(warmup, 1)})")
        rate = equivalents.peak_rate(rate, warmup)
    elif schedule not in known:
        differs = msg("lowered at a plateau there; openwork has no such schedule, cosine or linear fall too")
    draft.set("training.schedule", known.get(schedule, "constant"), "learning-rate-scheduler-type", note=differs)
    draft.set("training.learning_rate", rate, "initial-learning-rate", note=note)
    draft.set("training.warmup", max(warmup, 1), "learning-rate-warmup")


def _optimiser(draft: Draft) -> None:
    name = draft.value("optimizer", text, "adam")
    equivalents.optimiser(draft, "optimizer", name, {"adam": "adam", "sgd": "sgd"})
    if name == "sgd":
        draft.copy("training.momentum", "momentum", number, 0.0)
    equivalents.betas(draft, "optimizer-betas")
    clipping = ("gradient-clipping-type", "gradient-clipping-threshold")
    kind, threshold = draft.value(clipping[0], text, "none"), draft.value(clipping[1], number, 1.0)
    note = msg("openwork limits the norm of the gradient, not its entries") if kind == "abs" else ""
    draft.set("training.clip_norm", threshold if kind == "norm" and threshold > 0 else 0.0, *clipping, note=note)


def _batches(draft: Draft) -> None:
    kind, size = draft.value("batch-type", text, "word"), draft.value("batch-size", integer, 4096)
    if kind == "sentence":
        equivalents.sentence_batches(draft, size, "batch-size", "batch-type")
    else:
        draft.set("batches.tokens", size, "batch-size", "batch-type", note=BATCHES.get(kind, ""))


def _stopping(draft: Draft) -> None:
    usual = msg("Sockeye trains until nothing gets better where it is given no limit")
    equivalents.steps(draft, "max-updates", "max-num-epochs", usual)
    interval = draft.value("checkpoint-interval", integer, 4000)
    draft.set("training.validate_every", interval, "checkpoint-interval")
    patience = draft.value("max-num-checkpoint-not-improved", integer)
    draft.set("training.patience", patience, "max-num-checkpoint-not-improved")
    equivalents.other_endings(draft, patience=bool(patience))
    if draft.value("max-checkpoints", integer):
        draft.warn("max-checkpoints", f"set training.steps to it times training.validate_every ({interval})")
    equivalents.validation_metric(draft, draft.value("optimized-metric", text, "perplexity"), "optimized-metric")
    kind = draft.value("dtype", text, "float32")
    note = msg("openwork computes in float32 or bfloat16") if kind == "float16" else ""
    known = {"float16": "bfloat16", "bfloat16": "bfloat16", "float32": "float32"}.get(kind)
    draft.set("training.precision", known, "dtype", note=note)


def _search(draft: Draft) -> None:
    beam = 1 if draft.value("translate.greedy", boolean, False) else draft.value("translate.beam-size", integer)
    draft.set("decoding.beam", beam, "translate.beam-size", "translate.greedy")
    penalty = ("translate.length-penalty-alpha", "translate.length-penalty-beta")
    alpha, beta = (draft.value(name, number) for name in penalty)
    if beta == 5:  # the paper's form
        draft.set("decoding.length_penalty", alpha, *penalty)
    else:
        equivalents.power_penalty(draft, penalty[0], alpha, penalty[1])


SOCKEYE = read_toolkit(
    "sockeye",
    (_model, _embeddings, _feedforward, _norm, _data, _learning, _optimiser, _batches, _stopping, _search),
    lambda shown: shown.lstrip("-").replace("_", "-"),
)
