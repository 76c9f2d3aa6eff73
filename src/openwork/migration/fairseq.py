"""fairseq's command lines (fairseq-train and its kin) and hydra configurations, read from its version 0.12."""

import json

from openwork.migration.draft import Draft
from openwork.migration.fairseq_options import ARCHITECTURES, FLAGS, WITHOUT
from openwork.migration.meaning import (
    OUTSIDE,
    besides,
    checkpoints_of_best,
    half_precision,
    length_ratio,
    no_text_files,
    one_for_both,
    optimiser,
    power_penalty,
    steps,
    text_file,
    tying,
    vocabulary_size_unknown,
)
from openwork.migration.options import boolean, integer, number, numbers, text
from openwork.migration.rules import Always, ChoiceRule, OptionRule, To, Toolkit, aliases, table

_NOT_TRANSLATION = "openwork translates with one encoder and one decoder"


def _architecture(draft: Draft) -> None:
    name = draft.value("arch", text, "transformer")
    if name in ARCHITECTURES:
        draft.expand("arch", ARCHITECTURES[name])
    else:
        draft.expand("arch", {})
        draft.mind("arch", f"openwork does not know what {name} stands for: compare every size with openwork info")
    for key, side in (("width", "embed-dim"), ("feedforward_width", "ffn-embed-dim"), ("heads", "attention-heads")):
        one_for_both(draft, f"model.{key}", [f"encoder-{side}", f"decoder-{side}"], integer)
    for stack in ("encoder", "decoder"):
        draft.set(f"model.{stack}_layers", draft.value(f"{stack}-layers", integer), f"{stack}-layers")
    draft.say("model.attention_bias", True, "fairseq's projections have biases")
    _norm(draft)
    _positions(draft)


def _norm(draft: Draft) -> None:
    names = ("encoder-normalize-before", "decoder-normalize-before")
    before = [draft.value(name, boolean, False) for name in names]
    note = (
        ""
        if before[0] == before[1]
        else "one stack is pre-norm there and the other post-norm; openwork has one for both"
    )
    draft.set("model.norm", "pre" if any(before) else "post", *names, note=note)


def _positions(draft: Draft) -> None:
    learned = [draft.value(name, boolean, False) for name in ("encoder-learned-pos", "decoder-learned-pos")]
    names = ("encoder-learned-pos", "decoder-learned-pos")
    longest = ("max-source-positions", "max-target-positions")
    if draft.value("no-token-positional-embeddings", boolean, False):
        draft.set("model.positions", "none", "no-token-positional-embeddings")
    elif any(learned):
        draft.set("model.positions", "learned", *names)
        draft.set("model.longest", max(draft.value(name, integer, 1024) for name in longest), *longest)
    for name in longest:
        draft.mind(
            name, "a limit on what is read there; openwork's filters count characters (filters.maximum_characters)"
        )


def _embeddings(draft: Draft) -> None:
    joined = draft.value("preprocess.joined-dictionary", boolean, False)
    all_three = draft.value("share-all-embeddings", boolean, False)
    target = draft.value("share-decoder-input-output-embed", boolean, False)
    names = ("share-all-embeddings", "share-decoder-input-output-embed")
    tying(draft, all_three=all_three, target=target, sides=False, names=names)
    if not all_three:
        draft.set("text.shared", joined, "preprocess.joined-dictionary")
        if not draft.given("preprocess.joined-dictionary"):
            draft.remarks.append(
                "text.shared = false: fairseq makes one dictionary a side unless --joined-dictionary is given"
            )
    elif joined:
        draft.same("preprocess.joined-dictionary", "one vocabulary for both languages")


def _data(draft: Draft) -> None:
    source, target = (draft.first(text, f"{side}-lang", f"preprocess.{side}-lang") for side in ("source", "target"))
    for side, language in (("source", source), ("target", target)):
        draft.set(f"data.{side}_language", language, f"{side}-lang", f"preprocess.{side}-lang")
    for prefix, key in (("trainpref", ""), ("validpref", "valid_")):
        name = f"preprocess.{prefix}"
        path = draft.value(name, text)
        if path and source and target:
            text_file(draft, f"data.{key}source", f"{path.split(',')[0]}.{source}", name)
            text_file(draft, f"data.{key}target", f"{path.split(',')[0]}.{target}", name)
            if "," in path:
                draft.mind(name, "several corpora: the first is taken")
    draft.missing("data", "fairseq's folder holds ids, not text; openwork reads text and learns its vocabulary itself")
    no_text_files(draft, source, target, "fairseq's data folder holds ids, not text")
    sizes = [f"preprocess.nwords{side}" for side in ("src", "tgt")]
    if count := draft.first(integer, *sizes):
        draft.set("text.vocabulary_size", count if count > 0 else None, *sizes)
    if not draft.given(*sizes):
        vocabulary_size_unknown(draft)


def _learning(draft: Draft) -> None:
    schedule = draft.value("lr-scheduler", text, "fixed")
    known = {
        "inverse_sqrt": "inverse-square-root",
        "cosine": "cosine",
        "polynomial_decay": "linear",
        "fixed": "constant",
    }
    warmup = draft.value("warmup-updates", integer, 4000 if schedule == "inverse_sqrt" else 0)
    if schedule in known:
        draft.set("training.schedule", known[schedule], "lr-scheduler")
    else:
        note = f"openwork has no schedule {schedule!r}: choose one of constant, linear, cosine, inverse-square-root"
        draft.set("training.schedule", "constant", "lr-scheduler", note=note)
    rates = draft.value("lr", numbers, [])
    if rates:
        note = "a rate for each epoch there; the first is taken" if len(rates) > 1 else ""
        draft.set("training.learning_rate", rates[0], "lr", note=note)
    else:
        draft.to_do.append("choose training.learning_rate: fairseq's --lr is not given")
    draft.set("training.warmup", max(warmup, 1), "warmup-updates")
    _ends_of_schedule(draft, schedule)


def _ends_of_schedule(draft: Draft, schedule: str) -> None:
    start = draft.value("warmup-init-lr", number, 0.0)
    if start > 1e-6:
        draft.missing("warmup-init-lr", "openwork's rate rises from 0")
    else:
        draft.same("warmup-init-lr", "openwork's rate rises from 0, which is next to nothing away")
    for name, kind in (("end-learning-rate", "polynomial_decay"), ("min-lr", "cosine")):
        if schedule == kind:
            draft.set("training.lowest_rate", draft.value(name, number), name)
        else:
            draft.missing(name, f"used by the schedule {kind} alone")
    total = draft.value("total-num-update", integer)
    if total is not None and total == draft.value("max-update", integer):
        draft.same("total-num-update", "openwork's linear schedule ends with the training")
    else:
        draft.mind("total-num-update", "openwork's schedules end with the training: set training.steps to it")
    if draft.value("power", number, 1.0) == 1:
        draft.same("power", "openwork's linear schedule has the power 1")
    else:
        draft.missing("power", "openwork's linear schedule has the power 1")


def _optimiser(draft: Draft) -> None:
    name = draft.value("optimizer", text, "none")
    known = {
        "adam": "adam",
        "sgd": "sgd",
        "adagrad": "adagrad",
        "adafactor": "adafactor",
        "nag": "sgd",
        "cpu_adam": "adam",
    }
    decay = draft.value("weight-decay", number, 0.0)
    if name == "adam" and decay:
        # fairseq's adam takes the decay from the weights and not through the gradient: it is adamw
        draft.set("training.optimiser", "adamw", "optimizer", "weight-decay")
        draft.set("training.weight_decay", decay, "weight-decay")
    else:
        note = "Nesterov's momentum there, plain momentum here" if name == "nag" else ""
        optimiser(draft, "optimizer", name, known, note)
    if not decay:
        draft.same("weight-decay", "no decay")
    elif name != "adam":
        draft.missing("weight-decay", "openwork decays weights with adamw alone")
    if known.get(name) == "sgd":
        momentum = draft.value("momentum", number, 0.99 if name == "nag" else 0.0)
        draft.set("training.momentum", momentum, "momentum")
    for key, value in zip(("beta1", "beta2"), draft.value("adam-betas", numbers, []), strict=False):
        draft.set(f"training.{key}", value, "adam-betas")


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
            draft.mind("criterion", f"openwork has cross-entropy, label smoothing and R-Drop; {name} does more")
    elif name == "cross_entropy":
        draft.set("training.label_smoothing", 0.0, "criterion", "label-smoothing")
        if smoothing:
            draft.mind("label-smoothing", "--criterion cross_entropy does not smooth")
    else:
        draft.missing("criterion", "openwork trains on cross-entropy, with label smoothing and R-Drop if wanted")
        draft.set("training.label_smoothing", smoothing, "label-smoothing")


def _batches(draft: Draft) -> None:
    tokens, sentences = draft.value("max-tokens", integer), draft.value("batch-size", integer)
    note = "counted for each GPU there, and openwork trains on one: with N GPUs multiply training.accumulate by N"
    if tokens:
        draft.set("batches.tokens", tokens, "max-tokens", note=note)
        draft.missing("batch-size", "openwork's batches are bounded by tokens alone")
    elif sentences:
        note = f"sentences there, tokens here: the value is that of 25 tokens a sentence; {note}"
        draft.set("batches.tokens", sentences * 25, "batch-size", note=note)
    frequencies = draft.value("update-freq", numbers, [])
    if frequencies:
        several = len(frequencies) > 1
        notes = ["one for each epoch there: the last is taken"] if several else []
        notes += ["with N GPUs multiply by N"] if several or max(frequencies) > 1 else []
        draft.set("training.accumulate", int(frequencies[-1]), "update-freq", note="; ".join(notes))
    draft.mind("distributed-world-size", "openwork trains on one device: multiply training.accumulate by this number")


def _stopping(draft: Draft) -> None:
    steps(draft, "max-update", "max-epoch", "fairseq trains without end where it is given no limit")
    interval = draft.value("save-interval-updates", integer, 0) or draft.value("validate-interval-updates", integer, 0)
    if interval:
        draft.set("training.validate_every", interval, "save-interval-updates", "validate-interval-updates")
    for name in ("save-interval", "validate-interval"):
        draft.missing(name, "openwork validates every training.validate_every updates, not by epochs")
    patience = draft.value("patience", integer, -1)
    if patience > 0:
        draft.set("training.patience", patience, "patience")
    besides(draft, patience=patience > 0)
    metric = draft.value("best-checkpoint-metric", text, "loss")
    checkpoints_of_best(draft, metric, "best-checkpoint-metric")
    if metric == "bleu":
        draft.same("eval-bleu", "openwork translates validation sentences for the metric bleu")
    for name in ("fp16", "memory-efficient-fp16", "amp"):
        half_precision(draft, name)
    for name in ("bf16", "memory-efficient-bf16"):
        if draft.value(name, boolean, False):
            draft.set("training.precision", "bfloat16", name)
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
        draft.mind("eval-bleu-args", "openwork validates with its one section [decoding]")
    else:
        draft.mind("eval-bleu-args", "this is not a table in JSON, so it is left out")
    draft.set("decoding.beam", draft.value("generate.beam", integer), "generate.beam")
    if draft.value("generate.unnormalized", boolean, False):
        draft.set("decoding.length_penalty", 0.0, "generate.unnormalized", "generate.lenpen")
    else:
        power_penalty(draft, "generate.lenpen", draft.value("generate.lenpen", number))
    lengths = ("generate.max-len-a", "generate.max-len-b")
    if any(draft.has(name) for name in lengths):
        factor, plus = draft.value(lengths[0], number, 0.0), draft.value(lengths[1], number, 200.0)
        length_ratio(draft, factor, plus, *lengths)
    _sampling(draft)


def _sampling(draft: Draft) -> None:
    names = ("generate.sampling-topk", "generate.sampling-topp", "generate.temperature")
    if not draft.value("generate.sampling", boolean, False):
        for name in names:
            draft.missing(name, "belongs to sampling; openwork's beam search has no temperature")
        return
    draft.set("decoding.samples", draft.value("generate.nbest", integer, 1), "generate.sampling", "generate.nbest")
    best, nucleus = draft.value(names[0], integer, -1), draft.value(names[1], number, -1.0)
    draft.set("decoding.top_k", max(best, 0), names[0])
    draft.set("decoding.top_p", nucleus if nucleus > 0 else 1.0, names[1])
    draft.set("decoding.temperature", draft.value(names[2], number), names[2])


TABLE: dict[str, OptionRule] = table(
    {
        "seed": To("training.seed", integer),
        "dropout": To("model.dropout", number),
        "attention-dropout": To("model.attention_dropout", number),
        "activation-dropout": To("model.feedforward_dropout", number),
        "relu-dropout": To("model.feedforward_dropout", number),
        "activation-fn": ChoiceRule(
            "model.feedforward",
            {"relu": "relu", "gelu": "gelu", "gelu_accurate": "gelu", "gelu_fast": "gelu", "swish": "swish"},
            "openwork's feed-forward network has relu, gelu or swish, or is gated (glu, reglu, geglu, swiglu)",
        ),
        "adam-eps": To("training.epsilon", number),
        "clip-norm": To("training.clip_norm", number),
        "log-interval": To("training.log_every", integer),
        "no-epoch-checkpoints": Always([True], "openwork has no checkpoints of epochs", "openwork has none of epochs"),
        "task": Always(["translation"], "openwork translates", _NOT_TRANSLATION),
        "no-scale-embedding": To("model.embedding_scale", lambda value: not boolean(value)),
        "layernorm-embedding": To("model.embedding_norm", boolean),
        "maximize-best-checkpoint-metric": Always(
            [True], "openwork knows which way a metric is better", "openwork knows it"
        ),
        "sentence-avg": Always(
            [False], "a mean over tokens", "openwork's loss is a mean over tokens, not over sentences"
        ),
        "left-pad-source": Always(
            [False], "padding stands on the right", "padding stands on the right here, without effect"
        ),
        "left-pad-target": Always(
            [False], "padding stands on the right", "padding stands on the right here, without effect"
        ),
        "eval-bleu-detok": Always(["moses", "space"], "openwork scores plain text", "openwork scores plain text"),
        "generate.nbest": To("decoding.best", integer),
        "generate.no-repeat-ngram-size": To("decoding.no_repeat", integer),
        "generate.min-len": To("decoding.minimum_length", integer),
        "generate.diverse-beam-groups": To("decoding.groups", lambda value: max(1, integer(value))),
        "generate.diverse-beam-strength": To("decoding.diversity", number),
        "tensorboard-logdir": To("training.tensorboard", lambda value: bool(text(value)), OUTSIDE),
    },
    WITHOUT,
)


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


FAIRSEQ = Toolkit(
    name="fairseq",
    title="fairseq",
    signs="the command fairseq-train, options such as --arch, --max-tokens and --lr-scheduler, or hydra's sections",
    programs={"fairseq-train": "", "fairseq-hydra-train": "", "fairseq_cli/train.py": "", "fairseq_cli.train": "",
              "fairseq-preprocess": "preprocess.", "fairseq-generate": "generate.", "fairseq-interactive": "generate."},
    vague_programs={"train.py": "", "preprocess.py": "preprocess.", "generate.py": "generate."},
    table=TABLE,
    groups=(_architecture, _embeddings, _data, _learning, _optimiser, _criterion, _batches, _stopping, _search),
    defaults={
        "seed": 1,
        "adam-betas": "(0.9, 0.999)",
        "adam-eps": 1e-8,
        "clip-norm": 0.0,
        "log-interval": 100,
        "best-checkpoint-metric": "loss",
        "generate.beam": 5,
        "generate.lenpen": 1.0,
    },
    canonical=canonical,
    short=aliases("a=arch s=source-lang t=target-lang wd=weight-decay max-sentences=batch-size"),
    flags=frozenset(FLAGS.split()),
    positional="data",
)  # fmt: skip
