"""Marian's configurations (YAML) and command lines, read from its version 1.12."""

import re
from typing import Any

from openwork.migration.draft import Draft
from openwork.migration.marian_options import TASKS, WITHOUT
from openwork.migration.meaning import (
    besides,
    checkpoints_of_best,
    half_precision,
    length_ratio,
    no_text_files,
    optimiser,
    power_penalty,
    sampling,
    sentence_piece,
    steps,
    text_file,
    tying,
    vocabulary_size_unknown,
)
from openwork.migration.options import Value, boolean, integer, number, numbers, text, words
from openwork.migration.rules import Always, ChoiceRule, OptionRule, To, Toolkit, aliases, table

_PERIOD = re.compile(r"([0-9.eE+]+?)([KMG]?)([ute]?)")
_SCALE = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}


def period(value: Value) -> tuple[int, str]:
    """A span of training as Marian writes it: 100Ku is 100,000 updates, 10e ten epochs, 1Gt a billion target tokens."""
    written = words(value)[0] if isinstance(value, list) else text(value)
    found = _PERIOD.fullmatch(written.strip())
    if not found:
        raise ValueError(f"{written} is no span of training")
    return int(float(found.group(1)) * _SCALE[found.group(2)]), found.group(3) or "u"


def _updates(draft: Draft, key: str, name: str, least: int = 1) -> int | None:
    """A key of ours that counts updates, from a span that may be counted in something else."""
    found = draft.value(name, period)
    if found is None:
        return None
    if found[1] != "u":
        draft.mind(name, "counted in epochs or target tokens there, in updates here; it is left out")
        return None
    draft.set(key, max(found[0], least), name)
    return found[0]


def _presets(draft: Draft) -> None:
    for name in draft.value("task", words, []):
        draft.expand("task", TASKS.get(name, {}))
        if name not in TASKS:
            draft.mind("task", f"openwork does not know what {name} stands for")
    if draft.value("fp16", boolean, False):
        half_precision(draft, "fp16")
    alibi = draft.value("alibi", boolean, False)
    if alibi:
        draft.expand("alibi", {"transformer-attention-mask": "alibi", "transformer-disable-position-embeddings": True})


def _model(draft: Draft) -> None:
    kind = draft.value("type", text, "amun")
    if kind in ("amun", "nematus", "s2s"):
        _recurrent(draft, kind)
    else:
        note = "" if kind == "transformer" else f"openwork has the Transformer and an LSTM, not the type {kind}"
        draft.set("model.kind", "transformer", "type", note=note)
        _transformer(draft)
    names = ("tied-embeddings-all", "tied-embeddings-src", "tied-embeddings")
    all_three, sides, target = (draft.value(name, boolean, False) for name in names)
    tying(draft, all_three=all_three, target=target, sides=sides, names=names)
    _vocabulary(draft, together=all_three or sides)


def _transformer(draft: Draft) -> None:
    for name, key in (("enc-depth", "encoder_layers"), ("dec-depth", "decoder_layers"), ("dim-emb", "width")):
        draft.set(f"model.{key}", draft.value(name, integer), name)
    inner, decoder = draft.value("transformer-dim-ffn", integer), draft.value("transformer-decoder-dim-ffn", integer, 0)
    note = "the decoder's is another there; openwork has one for both" if decoder and decoder != inner else ""
    draft.set("model.feedforward_width", inner, "transformer-dim-ffn", "transformer-decoder-dim-ffn", note=note)
    _norm(draft)
    if draft.value("transformer-no-bias", boolean, False):
        draft.same("transformer-no-bias", "openwork's attention has no biases; its feed-forward network has")
    else:
        draft.say("model.attention_bias", True, "Marian's projections have biases")
    trained = draft.value("transformer-train-position-embeddings", boolean, False)
    none = draft.value("transformer-disable-position-embeddings", boolean, False)
    mask = draft.value("transformer-attention-mask", text, "default")
    names = (
        "transformer-attention-mask",
        "transformer-disable-position-embeddings",
        "transformer-train-position-embeddings",
    )
    if mask == "alibi":
        note = "" if none else "positions are also added to the embeddings there; ALiBi stands alone here"
        draft.set("model.positions", "alibi", *names, note=note)
    else:
        draft.set("model.positions", "learned" if trained else "none" if none else "sinusoidal", *names)
    for name in (
        "dim-rnn",
        "enc-cell",
        "dec-cell",
        "enc-type",
        "enc-cell-depth",
        "dec-cell-base-depth",
        "dec-cell-high-depth",
    ):
        draft.same(name, "about a recurrent model, which this is not")


def _norm(draft: Draft) -> None:
    before = draft.value("transformer-preprocess", text, "")
    after = draft.value("transformer-postprocess", text, "dan")
    top = draft.value("transformer-postprocess-top", text, "")
    names = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
    pre, post = "n" in before, "n" in after
    note = "openwork normalises either before (pre) or after (post) a sub-layer" if pre == post else ""
    if pre and "n" not in top:
        note = "openwork's pre-norm has one more norm after each stack"
    draft.set("model.norm", "pre" if pre else "post", *names, note=note)


# Marian's names for cells -> ours.
CELLS = {"tanh": "rnn", "lstm": "lstm", "gru": "gru"}


def _recurrent(draft: Draft, kind: str) -> None:
    draft.set(
        "model.kind",
        "recurrent",
        "type",
        note=f"Marian's {kind} is not built exactly as openwork's recurrent model",
    )
    for name, key in (("enc-depth", "encoder_layers"), ("dec-depth", "decoder_layers"), ("dim-rnn", "width")):
        draft.set(f"model.{key}", draft.value(name, integer, 1024 if name == "dim-rnn" else 1), name)
    draft.missing("dim-emb", "openwork's recurrent model has embeddings as wide as its states")
    draft.set("model.dropout", draft.value("dropout-rnn", number, 0.0), "dropout-rnn")
    cell, names = draft.value("dec-cell", text, "gru"), ("dec-cell", "enc-cell")
    draft.set("model.cell", CELLS.get(cell), *names)
    for name in names:
        if draft.value(name, text, "gru") != cell or cell not in CELLS:
            draft.mind(name, "openwork's recurrent model has one kind of cell for both sides: rnn, lstm or gru")
    for name in (
        "enc-type",
        "enc-cell-depth",
        "dec-cell-base-depth",
        "dec-cell-high-depth",
        "skip",
        "layer-normalization",
    ):
        draft.missing(name, "openwork's recurrent model is built in one way (openwork info)")


def _vocabulary(draft: Draft, *, together: bool) -> None:
    sizes = draft.value("dim-vocabs", numbers, [])
    known = [int(size) for size in sizes if size > 0]
    files = draft.value("vocabs", words, [])
    models = [name for name in files if name.endswith(".spm")]
    if models and len(models) == len(files):
        sentence_piece(draft, models[0], models[-1], "vocabs")
    if known:
        note = "" if len(set(known)) == 1 else "one size for both here: the first is taken"
        draft.set("text.vocabulary_size", known[0], "dim-vocabs", note=note)
    else:
        draft.same("dim-vocabs", "as many as there are")
        if not models:
            vocabulary_size_unknown(draft)
    draft.missing("vocabs", "openwork learns the vocabulary when training begins, and keeps it in the bundle")
    if not together:
        draft.set("text.shared", bool(files) and len(set(files)) == 1, "vocabs")
    sampling(draft, "sentencepiece-alphas", max(draft.value("sentencepiece-alphas", numbers, []), default=None))


def _data(draft: Draft) -> None:
    for name, keys in (("train-sets", ("source", "target")), ("valid-sets", ("valid_source", "valid_target"))):
        files = draft.value(name, words, [])
        if draft.value("tsv", boolean, False) and files:
            draft.set(f"data.{keys[0].replace('source', 'tsv')}", files[0], name, "tsv")
        elif len(files) >= 2:
            text_file(draft, f"data.{keys[0]}", files[0], name)
            text_file(draft, f"data.{keys[1]}", files[-1], name)
            if len(files) > 2:
                draft.mind(name, "openwork has one source: the first file is taken, and the last is the target")
    no_text_files(draft, None, None, "Marian's --train-sets is not given")


def _learning(draft: Draft) -> None:
    decay, warmup = draft.value("lr-decay-inv-sqrt", period, (0, "u")), draft.value("lr-warmup", period, (0, "u"))
    names = ("lr-decay-inv-sqrt", "lr-warmup")
    if decay[0]:
        note = "" if decay == warmup else (
            f"the rate falls there from update {decay[0]:,} on, and here from the end of the warm-up on"
        )  # fmt: skip
        draft.set("training.schedule", "inverse-square-root", "lr-decay-inv-sqrt", note=note)
    else:
        draft.set("training.schedule", "constant", "lr-decay-inv-sqrt")
    draft.set("training.learning_rate", draft.value("learn-rate", number), "learn-rate")
    if _updates(draft, "training.warmup", names[1]) is None:
        draft.set("training.warmup", max(decay[0], 1), names[0])
    if draft.value("lr-decay", number, 0.0):
        draft.missing("lr-decay", "lowered at a plateau there, which openwork does not")
    else:
        draft.same("lr-decay", "none")
    start = draft.value("lr-warmup-start-rate", number, 0.0)
    (draft.missing if start else draft.same)("lr-warmup-start-rate", "openwork's rate rises from 0")


def _optimiser(draft: Draft) -> None:
    name = draft.value("optimizer", text, "adam")
    values = draft.value("optimizer-params", numbers, [])
    if name == "adam" and len(values) > 3 and values[3]:
        draft.set("training.optimiser", "adamw", "optimizer", "optimizer-params")
        draft.set("training.weight_decay", values[3], "optimizer-params")
    else:
        optimiser(draft, "optimizer", name, {"adam": "adam", "sgd": "sgd", "adagrad": "adagrad"})
    if name == "sgd":
        draft.say("training.momentum", 0.0, "Marian's sgd has no momentum")
    if name == "adam":
        meant = [*values, *(0.9, 0.999, 1e-8)[len(values) :]]
        for key, value in zip(("beta1", "beta2", "epsilon"), meant, strict=False):
            draft.set(f"training.{key}", value, "optimizer-params")
    average = draft.value("exponential-smoothing", lambda value: 1e-4 if value is True else number(value), 0.0)
    draft.set("training.ema", float(f"{1 - average:.9g}") if average else 0.0, "exponential-smoothing")


def _batches(draft: Draft) -> None:
    given, sentences = draft.value("mini-batch-words", integer), draft.value("mini-batch", integer)
    fit = draft.value("mini-batch-fit", boolean, False)
    if given:
        note = (
            "source tokens there (target tokens in some versions), without padding; positions of the longer side here"
        )
        draft.set("batches.tokens", given, "mini-batch-words", note=note)
    elif fit:
        note = "as many as fit into the memory there; openwork is told: raise batches.tokens until the memory is full"
        draft.mind("mini-batch-fit", note)
        draft.mind("mini-batch", "the most sentences beside --mini-batch-fit; openwork counts tokens")
        draft.to_do.append("choose batches.tokens: Marian fills the memory (--mini-batch-fit)")
    elif sentences:
        note = "sentences there, tokens here: the value is that of 25 tokens a sentence"
        draft.set("batches.tokens", sentences * 25, "mini-batch", note=note)
    delay = draft.value("optimizer-delay", number)
    if delay is not None:
        note = "" if delay >= 1 and delay == int(delay) else "openwork counts whole batches"
        draft.set("training.accumulate", max(1, int(delay)), "optimizer-delay", note=note)
    if len(draft.value("devices", words, [])) > 1:
        draft.mind("devices", "openwork trains on one device: multiply training.accumulate by their number")
    else:
        draft.same("devices", "one device")


def _stopping(draft: Draft) -> None:
    after = draft.value("after", period, (0, "e"))
    if after[0] and after[1] == "u":
        draft.set("training.steps", after[0], "after")
    else:
        draft.mind("after", "openwork counts in updates: set training.steps")
        steps(
            draft, draft.given("after-batches"), draft.given("after-epochs"), "Marian trains until nothing gets better"
        )
    _updates(draft, "training.validate_every", "valid-freq")
    _updates(draft, "training.log_every", "disp-freq")
    if save := draft.value("save-freq", period):
        note = "openwork saves at each validation"
        if save == draft.value("valid-freq", period):
            draft.same("save-freq", note)
        else:
            draft.missing("save-freq", note)
    metrics = draft.value("valid-metrics", words, ["cross-entropy"])
    checkpoints_of_best(draft, metrics[0] if metrics else "cross-entropy", "valid-metrics")

    besides(draft, patience=True)


def _search(draft: Draft) -> None:
    prefix = "decode." if draft.given("decode.beam-size", "decode.normalize") else ""
    beam = draft.first(integer, "decode.beam-size", "beam-size")
    draft.set("decoding.beam", beam, *((f"{prefix}beam-size",) if prefix else ("beam-size",)))
    alpha = draft.first(_normalise, f"{prefix}normalize", "normalize", otherwise=0.0)
    power_penalty(draft, f"{prefix}normalize", alpha)
    if prefix:
        for name in ("beam-size", "normalize"):
            draft.same(name, "that of marian-decoder is taken, further down")
    factor = draft.given("decode.max-length-factor", "max-length-factor")
    if factor:
        length_ratio(draft, draft.value(factor, number), 0.0, factor)


def _normalise(value: Value) -> float:
    return 1.0 if value is True else number(value)


def _is_off(value: Any) -> bool:
    return not boolean(value)


TABLE: dict[str, OptionRule] = table(
    {
        "seed": To("training.seed", integer),
        "label-smoothing": To("training.label_smoothing", number),
        "clip-norm": To("training.clip_norm", number),
        "early-stopping": To("training.patience", integer),
        "transformer-heads": To("model.heads", integer),
        "transformer-dropout": To("model.dropout", number),
        "transformer-dropout-attention": To("model.attention_dropout", number),
        "transformer-dropout-ffn": To("model.feedforward_dropout", number),
        "transformer-ffn-activation": ChoiceRule(
            "model.feedforward",
            {"relu": "relu", "gelu": "gelu", "swish": "swish"},
            "openwork's feed-forward network has relu, gelu or swish, or is gated (glu, reglu, geglu, swiglu)",
        ),
        "transformer-decoder-autoreg": Always(
            ["self-attention"], "self-attention", "openwork's decoder has self-attention, no average attention or SSRU"
        ),
        "cost-type": Always(
            ["ce-mean-words"], "a mean over tokens", "openwork's loss is a mean over the tokens of a batch"
        ),
        "shuffle": Always(["data"], "openwork shuffles always", "openwork shuffles always"),
        "sync-sgd": Always([True], "openwork's updates are synchronous", "openwork's updates are synchronous"),
        "max-length-crop": Always([False], "longer pairs are left out", "openwork leaves longer pairs out (filters.*)"),
        "allow-unk": Always([False], "unknown pieces never come", "openwork never writes an unknown piece"),
        "transformer-postprocess-emb": Always(
            ["d"], "dropout on embeddings", "openwork has dropout after embeddings, no norm"
        ),
        "transformer-ffn-depth": Always([2], "two matrices", "openwork's feed-forward network has two matrices"),
        "output-omit-bias": To("model.output_bias", lambda value: not boolean(value)),
        "decode.n-best": To("decoding.best", lambda value: None if _is_off(value) else 4, "as many as the beam there"),
        "transformer-tied-layers": Always([[]], "no layers are one", "openwork ties no layers"),
    },
    WITHOUT,
)

MARIAN = Toolkit(
    name="marian",
    title="Marian",
    signs="the command marian, options such as --dim-emb, --enc-depth and --train-sets, or the same names in YAML",
    programs={"marian": "", "marian-train": "", "marian-decoder": "decode."},
    table=TABLE,
    groups=(_presets, _model, _data, _learning, _optimiser, _batches, _stopping, _search),
    defaults={
        "enc-depth": 1,
        "dec-depth": 1,
        "dim-emb": 512,
        "transformer-heads": 8,
        "transformer-dim-ffn": 2048,
        "transformer-ffn-activation": "swish",
        "output-omit-bias": False,
        "transformer-dropout": 0.0,
        "learn-rate": 1e-4,
        "label-smoothing": 0.0,
        "clip-norm": 1.0,
        "early-stopping": 10,
        "valid-freq": "10000u",
        "disp-freq": "1000u",
        "mini-batch": 64,
        "beam-size": 12,
        "normalize": 0.0,
    },
    canonical=lambda shown: shown.lstrip("-"),
    short=aliases(
        "c=config w=workspace m=model t=train-sets v=vocabs e=after-epochs a=after T=tempdir d=devices o=optimizer "
        "l=learn-rate b=beam-size n=normalize decode.m=decode.models decode.i=decode.input decode.o=decode.output "
        "decode.v=decode.vocabs decode.b=decode.beam-size decode.n=decode.normalize decode.c=decode.config "
        "decode.d=decode.devices decode.w=decode.workspace"
    ),
    config="config",
)  # fmt: skip
