"""Sockeye's command lines (sockeye-train and its kin) and argument files in YAML, read from its version 3.1."""

from collections.abc import Callable
from math import sqrt
from typing import Any

from openwork.migration.draft import Draft
from openwork.migration.meaning import (
    FOREIGN_WEIGHTS,
    NO_SUCH_PART,
    ONE_DEVICE,
    OUTSIDE,
    OWN_PROGRESS,
    OWN_READING,
    TESTS,
    besides,
    checkpoints_of_best,
    half_precision,
    no_text_files,
    optimiser,
    power_penalty,
    steps,
    text_file,
    tying,
    vocabulary_size_unknown,
)
from openwork.migration.options import Reader, Value, boolean, integer, number, numbers, text, words
from openwork.migration.rules import Always, OptionRule, To, Toolkit, aliases, table


def pair(read: Callable[[Value], Any]) -> Reader:
    """Two values for encoder and decoder (or source and target): 6:6, one for both, or a list."""

    def both(value: Value) -> tuple[Any, Any]:
        parts = words(value) if isinstance(value, list) else str(value).split(":")
        first, last = read(parts[0]), read(parts[-1])
        return first, last

    return both


def _one(draft: Draft, key: str, name: str, read: Callable[[Value], Any]) -> None:
    """A key of ours that holds for both stacks."""
    found = draft.value(name, pair(read))
    if found is not None:
        note = "" if found[0] == found[1] else "one value for both here: the first is taken"
        draft.set(key, found[0], name, note=note)


def _model(draft: Draft) -> None:
    layers = draft.value("num-layers", pair(integer), (6, 6))
    draft.set("model.encoder_layers", layers[0], "num-layers")
    draft.set("model.decoder_layers", layers[1], "num-layers")
    _one(draft, "model.width", "transformer-model-size", integer)
    _one(draft, "model.heads", "transformer-attention-heads", integer)
    _one(draft, "model.feedforward_width", "transformer-feed-forward-num-hidden", integer)
    _one(draft, "model.dropout", "transformer-dropout-prepost", number)
    _one(draft, "model.attention_dropout", "transformer-dropout-attention", number)
    _one(draft, "model.feedforward_dropout", "transformer-dropout-act", number)
    _embeddings(draft)
    _feedforward(draft)
    _norm(draft)


def _embeddings(draft: Draft) -> None:
    width = draft.holds("model.width")
    sizes = draft.value("num-embed", pair(integer), (width, width))
    if sizes == (width, width):
        draft.same("num-embed", "embeddings are as wide as the model")
    else:
        note = "" if sizes[0] == sizes[1] else "one value for both here: the source's is taken"
        draft.set("model.embedding_width", sizes[0], "num-embed", note=note)
    dropout = draft.value("embed-dropout", pair(number), (0.0, 0.0))
    if dropout == (draft.holds("model.dropout"),) * 2:
        draft.same("embed-dropout", "model.dropout is also that of the embeddings")
    else:
        draft.missing("embed-dropout", "openwork's model.dropout is also that of the embeddings")
    positions = draft.value("transformer-positional-embedding-type", text, "fixed")
    known = {"fixed": "sinusoidal", "learned": "learned", "none": "none"}
    draft.set("model.positions", known.get(positions), "transformer-positional-embedding-type")
    longest = draft.value("max-seq-len", pair(integer), (95, 95))
    if positions == "learned":
        draft.set("model.longest", max(longest) + 1, "max-seq-len")
    draft.mind(
        "max-seq-len", "longer pairs are left out there, by tokens; openwork's filters count characters (filters.*)"
    )
    weights = draft.value("weight-tying-type", text, "src_trg_softmax")
    name = "weight-tying-type"
    tying(draft, all_three=False, target="softmax" in weights, sides="src_trg" in weights, names=(name,))
    shared = ("shared-vocab", "prepare.shared-vocab")
    for name in shared:
        if "src_trg" in weights:
            draft.same(name, "one vocabulary for both languages")
    if "src_trg" not in weights:
        draft.set("text.shared", draft.first(boolean, *shared, otherwise=False), *shared)


def _feedforward(draft: Draft) -> None:
    activations = draft.value("transformer-activation-type", pair(text), ("relu", "relu"))
    gated = draft.value("transformer-feed-forward-use-glu", boolean, False)
    kinds = {"relu": "reglu", "gelu": "geglu", "swish1": "swiglu"} if gated else {"relu": "relu", "gelu": "gelu"}
    names = ("transformer-activation-type", "transformer-feed-forward-use-glu")
    note = "" if activations[0] == activations[1] else "one value for both here: the first is taken"
    if activations[0] in kinds:
        draft.set("model.feedforward", kinds[activations[0]], *names, note=note)
    else:
        draft.missing(names[0], f"openwork's feed-forward network has no {activations[0]} without a gate")


def _norm(draft: Draft) -> None:
    before = draft.value("transformer-preprocess", pair(text), ("n", "n"))[0]
    after = draft.value("transformer-postprocess", pair(text), ("dr", "dr"))[0]
    names = ("transformer-preprocess", "transformer-postprocess")
    if "n" in before and "n" not in after:
        draft.set("model.norm", "pre", *names)
    elif "n" in after and "n" not in before:
        draft.set("model.norm", "post", *names)
    else:
        note = "openwork normalises either before (pre) or after (post) a sub-layer"
        draft.set("model.norm", "pre" if "n" in before else "post", *names, note=note)


def _data(draft: Draft) -> None:
    for name, key in (("source", "source"), ("target", "target")):
        text_file(draft, f"data.{key}", draft.first(text, name, f"prepare.{name}"), name, f"prepare.{name}")
        text_file(draft, f"data.valid_{key}", draft.value(f"validation-{name}", text), f"validation-{name}")
    draft.missing("prepared-data", "openwork reads text, and prepares it by itself")
    no_text_files(draft, None, None, "Sockeye's prepared data holds ids, not text")
    sizes = ("num-words", "prepare.num-words")
    count = draft.first(pair(integer), *sizes, otherwise=(0, 0))[0]
    if count:
        draft.set("text.vocabulary_size", count, *sizes)
    else:
        vocabulary_size_unknown(draft)
        for name in sizes:
            draft.mind(name, "no limit there; openwork learns at most text.vocabulary_size pieces")


def _learning(draft: Draft) -> None:
    schedule = draft.value("learning-rate-scheduler-type", text, "plateau-reduce")
    rate, warmup = draft.value("initial-learning-rate", number, 0.0002), draft.value("learning-rate-warmup", integer, 0)
    names = ("initial-learning-rate", "learning-rate-warmup")
    if schedule == "inv-sqrt-decay":
        draft.set("training.schedule", "inverse-square-root", "learning-rate-scheduler-type")
        note = f"a factor there; the peak is {rate:g} / sqrt({max(warmup, 1)})"
        draft.set("training.learning_rate", float(f"{rate / sqrt(max(warmup, 1)):.6g}"), names[0], note=note)
    else:
        known = {"linear-decay": "linear", "none": "constant"}
        note = (
            ""
            if schedule in known
            else "lowered at a plateau there; openwork has no such schedule, cosine or linear fall too"
        )
        draft.set("training.schedule", known.get(schedule, "constant"), "learning-rate-scheduler-type", note=note)
        draft.set("training.learning_rate", rate, names[0])
    draft.set("training.warmup", max(warmup, 1), names[1])
    for name in (
        "learning-rate-reduce-factor",
        "learning-rate-reduce-num-not-improved",
        "no-reload-on-learning-rate-reduce",
    ):
        draft.missing(name, "about lowering the rate at a plateau, which openwork does not")


def _optimiser(draft: Draft) -> None:
    name = draft.value("optimizer", text, "adam")
    optimiser(draft, "optimizer", name, {"adam": "adam", "sgd": "sgd"})
    if name == "sgd":
        draft.set("training.momentum", draft.value("momentum", number, 0.0), "momentum")
    if draft.value("weight-decay", number, 0.0):
        draft.missing(
            "weight-decay", "added to the gradient there; openwork takes it from the weights (optimiser adamw)"
        )
    else:
        draft.same("weight-decay", "no decay")
    for key, value in zip(("beta1", "beta2"), draft.value("optimizer-betas", numbers, []), strict=False):
        draft.set(f"training.{key}", value, "optimizer-betas")
    kind = draft.value("gradient-clipping-type", text, "none")
    threshold = draft.value("gradient-clipping-threshold", number, 1.0)
    clipping = ("gradient-clipping-type", "gradient-clipping-threshold")
    note = "openwork limits the norm of the gradient, not its entries" if kind == "abs" else ""
    draft.set("training.clip_norm", threshold if kind == "norm" and threshold > 0 else 0.0, *clipping, note=note)


def _smoothing(draft: Draft) -> None:
    form = "others" if draft.value("label-smoothing-impl", text, "mxnet") == "fairseq" else "vocabulary"
    draft.set("training.label_smoothing", draft.value("label-smoothing", number), "label-smoothing")
    draft.set("training.smoothing_form", form, "label-smoothing-impl")


def _batches(draft: Draft) -> None:
    kind, size = draft.value("batch-type", text, "word"), draft.value("batch-size", integer, 4096)
    notes = {
        "word": "target tokens there, about; positions of the longer side here, padding included",
        "max-word": "target tokens there; positions of the longer side here, padding included",
        "sentence": "sentences there, tokens here: the value is that of 25 tokens a sentence",
    }
    size = size * 25 if kind == "sentence" else size
    draft.set("batches.tokens", size, "batch-size", "batch-type", note=notes.get(kind, ""))
    if draft.value("dist", boolean, False):
        draft.mind("dist", "openwork trains on one device: multiply training.accumulate by the number of processes")


def _stopping(draft: Draft) -> None:
    steps(draft, "max-updates", "max-num-epochs", "Sockeye trains until nothing gets better where it is given no limit")
    interval = draft.value("checkpoint-interval", integer, 4000)
    draft.set("training.validate_every", interval, "checkpoint-interval")
    draft.set(
        "training.patience", draft.value("max-num-checkpoint-not-improved", integer), "max-num-checkpoint-not-improved"
    )
    besides(draft, patience=bool(draft.value("max-num-checkpoint-not-improved", integer)))
    if draft.value("max-checkpoints", integer):
        draft.mind("max-checkpoints", f"set training.steps to it times training.validate_every ({interval})")
    checkpoints_of_best(draft, draft.value("optimized-metric", text, "perplexity"), "optimized-metric")
    sentences = draft.value("decode-and-evaluate", integer)
    if sentences is not None:
        draft.set("training.validation_sentences", sentences if sentences >= 0 else None, "decode-and-evaluate")
    for name in ("amp", "apex-amp", "deepspeed-fp16"):
        half_precision(draft, name)
    kind = draft.value("dtype", text, "float32")
    if kind == "float16":
        draft.set("training.precision", "bfloat16", "dtype", note="openwork computes in float32 or bfloat16")
    else:
        draft.set("training.precision", {"bfloat16": "bfloat16", "float32": "float32"}.get(kind), "dtype")


def _search(draft: Draft) -> None:
    beam = 1 if draft.value("translate.greedy", boolean, False) else draft.value("translate.beam-size", integer)
    draft.set("decoding.beam", beam, "translate.beam-size", "translate.greedy")
    alpha, beta = (draft.value(f"translate.length-penalty-{name}", number) for name in ("alpha", "beta"))
    if beta == 5:  # the paper's form
        draft.set("decoding.length_penalty", alpha, "translate.length-penalty-alpha", "translate.length-penalty-beta")
    else:
        power_penalty(draft, "translate.length-penalty-alpha", alpha, "translate.length-penalty-beta")
    longest = draft.value("translate.max-output-length", integer)
    draft.set("decoding.maximum_length", longest, "translate.max-output-length")


TABLE: dict[str, OptionRule] = table(
    {
        "seed": To("training.seed", integer),
        "update-interval": To("training.accumulate", integer),
        "optimizer-eps": To("training.epsilon", number),
        "encoder": Always(["transformer"], "openwork's encoder", "openwork has the Transformer and an LSTM"),
        "decoder": Always(["transformer"], "openwork's decoder", "openwork has the Transformer and an LSTM, no SSRU"),
        "translate.nbest-size": To("decoding.best", integer),
        "translate.prevent-unk": Always([True], "unknown pieces never come", "unknown pieces never come"),
    },
    {
        OUTSIDE: "output overwrite-output prepare.output",
        TESTS: "translate.input translate.output translate.models translate.output-type translate.checkpoints",
        "openwork keeps the checkpoints that training.average needs": (
            "keep-last-params keep-initializations cache-last-best-params cache-strategy cache-metric"
        ),
        "openwork learns the vocabulary from the training text": (
            "source-vocab target-vocab word-min-count pad-vocab-to-multiple-of prepare.source-vocab "
            "prepare.target-vocab prepare.word-min-count prepare.pad-vocab-to-multiple-of"
        ),
        OWN_READING: (
            "bucket-width bucket-scaling no-bucketing no-bucket-scaling batch-sentences-multiple-of "
            "prepare.bucket-width prepare.num-samples-per-shard prepare.min-num-shards prepare.max-seq-len "
            "prepare.max-processes prepare.seed prepare.bucket-scaling prepare.no-bucketing translate.batch-size "
            "translate.chunk-size translate.bucket-width"
        ),
        ONE_DEVICE: "local_rank local-rank horovod",
        "openwork takes a GPU where there is one": (
            "use-cpu device-id device-ids env tf32 translate.use-cpu translate.device-id translate.env "
            "translate.dtype translate.tf32"
        ),
        OWN_PROGRESS: (
            "quiet quiet-secondary-workers no-logfile loglevel loglevel-secondary-workers dry-run "
            "stop-training-on-decoder-failure translate.quiet translate.loglevel translate.no-logfile prepare.quiet "
            "prepare.loglevel prepare.no-logfile"
        ),
        FOREIGN_WEIGHTS: "params allow-missing-params ignore-extra-params",
        "openwork ends at training.steps or by patience": (
            "min-samples max-samples min-updates max-seconds min-num-epochs checkpoint-improvement-threshold"
        ),
        NO_SUCH_PART: (
            "source-factors target-factors source-factors-num-embed target-factors-num-embed source-factors-combine "
            "target-factors-combine source-factors-share-embedding target-factors-share-embedding "
            "validation-source-factors validation-target-factors target-factors-weight lhuc length-task "
            "length-task-weight length-task-layers neural-vocab-selection neural-vocab-selection-block-loss "
            "bow-task-weight bow-task-pos-weight transformer-block-prepended-cross-attention end-of-prepending-tag "
            "clamp-to-dtype translate.restrict-lexicon translate.restrict-lexicon-topk "
            "translate.brevity-penalty-type translate.brevity-penalty-weight translate.knn-index "
            "translate.strip-unknown-words translate.skip-nvs translate.nvs-thresh translate.json-input "
            "translate.beam-search-stop"
        ),
    },
)

SOCKEYE = Toolkit(
    name="sockeye",
    title="Sockeye",
    signs="the command sockeye-train, options such as --transformer-model-size and --weight-tying-type, or args.yaml",
    programs={
        "sockeye-train": "",
        "sockeye.train": "",
        "sockeye-prepare-data": "prepare.",
        "sockeye.prepare_data": "prepare.",
        "sockeye-translate": "translate.",
        "sockeye.translate": "translate.",
    },
    table=TABLE,
    groups=(_model, _data, _learning, _optimiser, _smoothing, _batches, _stopping, _search),
    defaults={
        "seed": 1,
        "num-layers": "6:6",
        "transformer-model-size": "512:512",
        "transformer-attention-heads": "8:8",
        "transformer-feed-forward-num-hidden": "2048:2048",
        "transformer-dropout-prepost": "0.1:0.1",
        "transformer-dropout-attention": "0.1:0.1",
        "transformer-dropout-act": "0.1:0.1",
        "optimizer-betas": "0.9:0.999",
        "optimizer-eps": 1e-8,
        "label-smoothing": 0.1,
        "translate.beam-size": 5,
        "translate.length-penalty-alpha": 1.0,
        "translate.length-penalty-beta": 0.0,
    },
    canonical=lambda shown: shown.lstrip("-").replace("_", "-"),
    short=aliases(
        "s=source t=target vs=validation-source vt=validation-target o=output d=prepared-data b=batch-size p=params "
        "sf=source-factors tf=target-factors q=quiet translate.m=translate.models translate.i=translate.input "
        "translate.o=translate.output translate.b=translate.beam-size translate.g=translate.greedy "
        "prepare.s=prepare.source prepare.t=prepare.target prepare.o=prepare.output"
    ),
    config="config",
)  # fmt: skip
