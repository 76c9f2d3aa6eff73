"""fairseq's command lines (fairseq-train and its kin) and hydra configurations, read from its version 0.12."""

import json

from openwork.base.messages import msg
from openwork.migration import equivalents
from openwork.migration.draft import Draft
from openwork.migration.options import boolean, integer, number, numbers, text
from openwork.migration.rules import read_toolkit

NORMS = ("encoder-normalize-before", "decoder-normalize-before")
LEARNED = ("encoder-learned-pos", "decoder-learned-pos")
LONGEST = ("max-source-positions", "max-target-positions")
ALL_THREE, TARGET, JOINED = (
    "share-all-embeddings",
    "share-decoder-input-output-embed",
    "preprocess.joined-dictionary",
)
SCHEDULES = {
    "inverse_sqrt": "inverse-square-root",
    "cosine": "cosine",
    "polynomial_decay": "linear",
    "fixed": "constant",
}
OPTIMISERS = {name: name for name in ("adam", "sgd", "adagrad", "adafactor")} | {"nag": "sgd", "cpu_adam": "adam"}


def _architecture(draft: Draft) -> None:
    name = draft.value("arch", text, "transformer")
    draft.expand("arch", FAIRSEQ.presets.get(name, {}))
    if name not in FAIRSEQ.presets:
        draft.warn("arch", f"openwork does not know the name {name}: compare every size with openwork info")
    draft.add("model.attention_bias", True, msg("fairseq's projections have biases"))
    before = [draft.value(name, boolean, False) for name in NORMS]
    differ = msg("one stack is pre-norm there and the other post-norm; openwork has one for both")
    draft.set("model.norm", "pre" if any(before) else "post", *NORMS, note=differ if before[0] != before[1] else "")
    _positions(draft)


def _positions(draft: Draft) -> None:
    learned = [draft.value(name, boolean, False) for name in LEARNED]
    if draft.value("no-token-positional-embeddings", boolean, False):
        draft.set("model.positions", "none", "no-token-positional-embeddings")
    elif any(learned):
        draft.set("model.positions", "learned", *LEARNED)
        draft.set("model.maximum_length", max(draft.value(name, integer, 1024) for name in LONGEST), *LONGEST)


def _embeddings(draft: Draft) -> None:
    joined, all_three, target = (draft.value(name, boolean, False) for name in (JOINED, ALL_THREE, TARGET))
    equivalents.tying(draft, all_three=all_three, target=target, sides=False, names=(ALL_THREE, TARGET))
    if not all_three:
        draft.set("text.shared", joined, JOINED)
        if not draft.given(JOINED):
            draft.remarks.append(
                msg("text.shared = false: fairseq makes one dictionary a side unless --joined-dictionary is given")
            )
    elif joined:
        draft.same(JOINED, "one vocabulary for both languages")


def _data(draft: Draft) -> None:
    source, target = (draft.first(text, f"{side}-lang", f"preprocess.{side}-lang") for side in ("source", "target"))
    for side, language in (("source", source), ("target", target)):
        draft.set(f"data.{side}_language", language, f"{side}-lang", f"preprocess.{side}-lang")
    for prefix, key in (("trainpref", ""), ("validpref", "valid_")):
        name = f"preprocess.{prefix}"
        path = draft.value(name, text)
        if path and source and target:
            equivalents.text_files(draft, f"data.{key}", path.split(",")[0], (source, target), name)
            if "," in path:
                draft.warn(name, "several corpora: the first is taken")
    equivalents.no_text_files(draft, source, target, msg("fairseq's data folder holds ids, not text"))
    sizes = ("preprocess.nwordssrc", "preprocess.nwordstgt")
    if count := draft.first(integer, *sizes):
        draft.set("text.vocabulary_size", count if count > 0 else None, *sizes)
    if not draft.given(*sizes):
        equivalents.vocabulary_size_unknown(draft)


def _learning(draft: Draft) -> None:
    schedule = draft.value("lr-scheduler", text, "fixed")
    note = msg(f"openwork has no schedule {schedule!r}: choose one of constant, linear, cosine, inverse-square-root")
    known = SCHEDULES.get(schedule, "constant")
    draft.set("training.schedule", known, "lr-scheduler", note="" if schedule in SCHEDULES else note)
    rates = draft.value("lr", numbers, [])
    if rates:
        note = msg("a rate for each epoch there; the first is taken") if len(rates) > 1 else ""
        draft.set("training.learning_rate", rates[0], "lr", note=note)
    else:
        draft.to_do.append(msg("choose training.learning_rate: fairseq's --lr is not given"))
    warmup = draft.value("warmup-updates", integer, 4000 if schedule == "inverse_sqrt" else 0)
    draft.set("training.warmup", max(warmup, 1), "warmup-updates")
    _ends_of_schedule(draft, schedule)


def _ends_of_schedule(draft: Draft, schedule: str) -> None:
    for name, kind in (("end-learning-rate", "polynomial_decay"), ("min-lr", "cosine")):
        if schedule == kind:
            draft.copy("training.lowest_rate", name, number)
        else:
            draft.missing(name, f"used by the schedule {kind} alone")
    total = draft.value("total-num-update", integer)
    draft.same(
        "total-num-update",
        "openwork's linear schedule ends with the training",
        total is not None and total == draft.value("max-update", integer),
        warning=msg("openwork's schedules end with the training: set training.steps to it"),
    )


def _optimiser(draft: Draft) -> None:
    name = draft.value("optimizer", text, "none")
    decay = draft.value("weight-decay", number, 0.0)
    if name == "adam" and decay:
        # fairseq's adam takes the decay from the weights and not through the gradient: it is adamw
        draft.set("training.optimiser", "adamw", "optimizer", "weight-decay")
        draft.set("training.weight_decay", decay, "weight-decay")
    else:
        note = msg("Nesterov's momentum there, plain momentum here") if name == "nag" else ""
        equivalents.optimiser(draft, "optimizer", name, OPTIMISERS, note)
        draft.same("weight-decay", "no decay", not decay, missing=msg("openwork decays weights with adamw alone"))
    if OPTIMISERS.get(name) == "sgd":
        draft.copy("training.momentum", "momentum", number, 0.99 if name == "nag" else 0.0)
    equivalents.betas(draft, "adam-betas")


def _criterion(draft: Draft) -> None:
    name = draft.value("criterion", text, "cross_entropy")
    smoothing = draft.value("label-smoothing", number, 0.0)
    if name.startswith("label_smoothed_cross_entropy"):
        draft.set("training.label_smoothing", smoothing, "label-smoothing")
        if smoothing:  # the right token keeps 1 - epsilon, each other has epsilon / (V - 1)
            draft.set("training.smoothing_form", "others", "label-smoothing", "criterion")
        draft.same("criterion", "cross-entropy with label smoothing")
        if name.endswith("with_rdrop"):
            draft.set("training.r_drop", draft.value("rdrop-alpha", number, 0.0), "rdrop-alpha", "criterion")
        elif name != "label_smoothed_cross_entropy":
            draft.warn("criterion", f"openwork has cross-entropy, label smoothing and R-Drop; {name} does more")
    elif name == "cross_entropy":
        draft.set("training.label_smoothing", 0.0, "criterion", "label-smoothing")
        if smoothing:
            draft.warn("label-smoothing", "--criterion cross_entropy does not smooth")
    else:
        draft.missing("criterion", "openwork trains on cross-entropy, with label smoothing and R-Drop if wanted")
        draft.set("training.label_smoothing", smoothing, "label-smoothing")


def _batches(draft: Draft) -> None:
    tokens, sentences = draft.value("max-tokens", integer), draft.value("batch-size", integer)
    note = msg("counted for each GPU there, and openwork trains on one: with N GPUs multiply training.accumulate by N")
    if tokens:
        draft.set("batches.tokens", tokens, "max-tokens", note=note)
        draft.missing("batch-size", "openwork's batches are bounded by tokens alone")
    elif sentences:
        equivalents.sentence_batches(draft, sentences, "batch-size", more=note)
    frequencies = draft.value("update-freq", numbers, [])
    if frequencies:
        several = len(frequencies) > 1
        notes = [msg("one for each epoch there: the last is taken")] if several else []
        notes += [msg("with N GPUs multiply by N")] if several or max(frequencies) > 1 else []
        draft.set("training.accumulate", int(frequencies[-1]), "update-freq", note="; ".join(notes))


def _stopping(draft: Draft) -> None:
    equivalents.steps(draft, "max-update", "max-epoch", msg("fairseq trains without end where it is given no limit"))
    intervals = ("save-interval-updates", "validate-interval-updates")
    interval = draft.value(intervals[0], integer, 0) or draft.value(intervals[1], integer, 0)
    draft.set("training.validate_every", interval or None, *intervals)
    patience = draft.value("patience", integer, -1)
    draft.set("training.patience", patience if patience > 0 else None, "patience")
    equivalents.other_endings(draft, patience=patience > 0)
    metric = draft.value("best-checkpoint-metric", text, "loss")
    equivalents.validation_metric(draft, metric, "best-checkpoint-metric")
    if metric == "bleu":
        draft.same("eval-bleu", "openwork translates validation sentences for the metric bleu")
    if draft.value("store-ema", boolean, False):
        draft.set("training.ema", draft.value("ema-decay", number, 0.9999), "ema-decay", "store-ema")


def _search(draft: Draft) -> None:
    """fairseq-generate's options, or else those that --eval-bleu-args gives for validation."""
    try:
        arguments = json.loads(draft.value("eval-bleu-args", text, "{}"))
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        draft.expand("eval-bleu-args", {f"generate.{key.replace('_', '-')}": value for key, value in arguments.items()})
        draft.warn("eval-bleu-args", "openwork validates with its one section [decoding]")
    else:
        draft.warn("eval-bleu-args", "this is not a table in JSON, so it is left out")
    if draft.value("generate.unnormalized", boolean, False):
        draft.set("decoding.length_penalty", 0.0, "generate.unnormalized", "generate.lenpen")
    else:
        equivalents.power_penalty(draft, "generate.lenpen", draft.value("generate.lenpen", number))
    lengths = ("generate.max-len-a", "generate.max-len-b")
    if any(draft.has(name) for name in lengths):
        factor, plus = draft.value(lengths[0], number, 0.0), draft.value(lengths[1], number, 200.0)
        equivalents.length_ratio(draft, factor, plus, *lengths)


def _sampling(draft: Draft) -> None:
    names = ("generate.sampling-topk", "generate.sampling-topp", "generate.temperature")
    if not draft.value("generate.sampling", boolean, False):
        draft.missing(names, "belongs to sampling; openwork's beam search has no temperature")
        return
    draft.set("decoding.samples", draft.value("generate.nbest", integer, 1), "generate.sampling", "generate.nbest")
    best, nucleus = draft.value(names[0], integer, -1), draft.value(names[1], number, -1.0)
    draft.set("decoding.top_k", max(best, 0), names[0])
    draft.set("decoding.top_p", nucleus if nucleus > 0 else 1.0, names[1])
    draft.copy("decoding.temperature", names[2], number)


def canonical(shown: str) -> str:
    """The name of the command line for what a command line or a hydra configuration calls an option.

    hydra's sections only sort the options, and `_name` stands for the section itself: criterion._name is --criterion.
    """
    name = shown.lstrip("-").lstrip("+")
    *sections, last = name.split(".")
    if last == "_name" and sections:
        last = {"model": "arch"}.get(sections[-1], sections[-1])
    elif sections[-1:] in (["encoder"], ["decoder"]):
        last = f"{sections[-1]}_{last}"
    elif sections[:1] == ["generation"] or sections[:1] == ["common_eval"]:
        last = f"generate.{last}"
    return last.replace("_", "-")


FAIRSEQ = read_toolkit(
    "fairseq",
    (_architecture, _embeddings, _data, _learning, _optimiser, _criterion, _batches, _stopping, _search, _sampling),
    canonical,
)
