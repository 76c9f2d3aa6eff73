"""Marian's configurations (YAML) and command lines, read from its version 1.12."""

import re

from openwork.base.messages import msg
from openwork.migration import equivalents
from openwork.migration.draft import Draft
from openwork.migration.options import Value, boolean, integer, number, numbers, text, words
from openwork.migration.rules import read_toolkit

_PERIOD = re.compile(r"([0-9.eE+]+?)([KMG]?)([ute]?)")
_SCALE = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000}

CELLS = {"tanh": "rnn", "lstm": "lstm", "gru": "gru"}  # Marian's names -> openwork's
NORMS = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
TRAINED, DISABLED = "transformer-train-position-embeddings", "transformer-disable-position-embeddings"
MASK = "transformer-attention-mask"
# Options of recurrent models that have no counterpart, and those that say nothing about a Transformer.
RECURRENT = ("enc-type", "enc-cell-depth", "dec-cell-base-depth", "dec-cell-high-depth")
ONLY_RECURRENT = ("dim-rnn", "enc-cell", "dec-cell", *RECURRENT)


def period(value: Value) -> tuple[int, str]:
    """A span of training as Marian writes it: 100Ku is 100,000 updates, 10e ten epochs, 1Gt a billion target tokens."""
    written = " ".join(words(value)[:1]) if isinstance(value, list) else text(value)
    found = _PERIOD.fullmatch(written.strip())
    if not found:
        raise ValueError(f"{written} is no span of training")
    return int(float(found.group(1)) * _SCALE[found.group(2)]), found.group(3) or "u"


def _updates(draft: Draft, key: str, name: str, least: int = 1) -> int | None:
    """A key that counts updates, from a span that may be counted in something else."""
    found = draft.value(name, period)
    if found is None:
        return None
    if found[1] != "u":
        draft.warn(name, "counted in epochs or target tokens there, in updates here; it is left out")
        return None
    draft.set(key, max(found[0], least), name)
    return found[0]


def _presets(draft: Draft) -> None:
    for name in draft.value("task", words, []):
        draft.expand("task", MARIAN.presets.get(name, {}))
        if name not in MARIAN.presets:
            draft.warn("task", f"openwork does not know the name {name}")
    if draft.value("alibi", boolean, False):
        draft.expand("alibi", {MASK: "alibi", DISABLED: True})


def _model(draft: Draft) -> None:
    kind = draft.value("type", text, "amun")
    if kind in ("amun", "nematus", "s2s"):
        _recurrent(draft, kind)
    else:
        note = "" if kind == "transformer" else msg(f"openwork has the Transformer and an LSTM, not the type {kind}")
        draft.set("model.kind", "transformer", "type", note=note)
        _transformer(draft)
    names = ("tied-embeddings-all", "tied-embeddings-src", "tied-embeddings")
    all_three, sides, target = (draft.value(name, boolean, False) for name in names)
    equivalents.tying(draft, all_three=all_three, target=target, sides=sides, names=names)
    _vocabulary(draft, together=all_three or sides)


def _transformer(draft: Draft) -> None:
    for name, key in (("enc-depth", "encoder_layers"), ("dec-depth", "decoder_layers"), ("dim-emb", "width")):
        draft.copy(f"model.{key}", name, integer)
    inner, decoder = draft.value("transformer-dim-ffn", integer), draft.value("transformer-decoder-dim-ffn", integer, 0)
    note = msg("the decoder's is another there; openwork has one for both") if decoder and decoder != inner else ""
    draft.set("model.feedforward_width", inner, "transformer-dim-ffn", "transformer-decoder-dim-ffn", note=note)
    _norm(draft)
    if draft.value("transformer-no-bias", boolean, False):
        draft.same("transformer-no-bias", "openwork's attention has no biases; its feed-forward network has")
    else:
        draft.add("model.attention_bias", True, msg("Marian's projections have biases"))
    trained, none = (draft.value(name, boolean, False) for name in (TRAINED, DISABLED))
    kind, note = "learned" if trained else "none" if none else "split-sinusoidal", ""
    if draft.value(MASK, text, "default") == "alibi":
        kind = "alibi"
        note = "" if none else msg("positions are also added to the embeddings there; ALiBi stands alone here")
    draft.set("model.positions", kind, MASK, DISABLED, TRAINED, note=note)
    draft.add("model.start_vector", "zeros", msg("Marian's decoder starts with zeros"))
    draft.same(ONLY_RECURRENT, "about a recurrent model, which this is not")


def _norm(draft: Draft) -> None:
    before, after, top = (draft.value(name, text, value) for name, value in zip(NORMS, ("", "dan", ""), strict=True))
    pre, post = "n" in before, "n" in after
    note = msg("openwork normalises either before (pre) or after (post) a sub-layer") if pre == post else ""
    if pre and "n" not in top:
        note = msg("openwork's pre-norm has one more norm after each stack")
    draft.set("model.norm", "pre" if pre else "post", *NORMS, note=note)


def _recurrent(draft: Draft, kind: str) -> None:
    note = msg(f"Marian's {kind} is not built exactly as openwork's recurrent model")
    draft.set("model.kind", "recurrent", "type", note=note)
    for name, key in (("enc-depth", "encoder_layers"), ("dec-depth", "decoder_layers"), ("dim-rnn", "width")):
        draft.copy(f"model.{key}", name, integer, 1024 if name == "dim-rnn" else 1)
    draft.missing("dim-emb", "openwork's recurrent model has embeddings as wide as its states")
    draft.copy("model.dropout", "dropout-rnn", number, 0.0)
    cell, names = draft.value("dec-cell", text, "gru"), ("dec-cell", "enc-cell")
    draft.set("model.cell", CELLS.get(cell), *names)
    for name in names:
        if draft.value(name, text, "gru") != cell or cell not in CELLS:
            draft.warn(name, "openwork's recurrent model has one kind of cell for both sides: rnn, lstm or gru")
    names = (*RECURRENT, "skip", "layer-normalization")
    draft.missing(names, "openwork has one kind of recurrent model (openwork info)")


def _vocabulary(draft: Draft, *, together: bool) -> None:
    known = [int(size) for size in draft.value("dim-vocabs", numbers, []) if size > 0]
    files = draft.value("vocabs", words, [])
    models = [name for name in files if name.endswith(".spm")]
    if models and len(models) == len(files):
        equivalents.sentence_piece(draft, models[0], models[-1], "vocabs")
    if known:
        note = "" if len(set(known)) == 1 else msg("one size for both here: the first is taken")
        draft.set("text.vocabulary_size", known[0], "dim-vocabs", note=note)
    else:
        draft.same("dim-vocabs", "as many as there are")
        if not models:
            equivalents.vocabulary_size_unknown(draft)
    if not together:
        draft.set("text.shared", bool(files) and len(set(files)) == 1, "vocabs")
    alphas = draft.value("sentencepiece-alphas", numbers, [])
    equivalents.sampling(draft, "sentencepiece-alphas", max(alphas, default=None))


def _data(draft: Draft) -> None:
    for name, keys in (("train-sets", ("source", "target")), ("valid-sets", ("valid_source", "valid_target"))):
        files = draft.value(name, words, [])
        if draft.value("tsv", boolean, False) and files:
            draft.set(f"data.{keys[0].replace('source', 'tsv')}", files[0], name, "tsv")
        elif len(files) >= 2:
            equivalents.text_file(draft, f"data.{keys[0]}", files[0], name)
            equivalents.text_file(draft, f"data.{keys[1]}", files[-1], name)
            if len(files) > 2:
                draft.warn(name, "openwork has one source: the first file is taken, and the last is the target")
    equivalents.no_text_files(draft, None, None, msg("Marian's --train-sets is not given"))


def _learning(draft: Draft) -> None:
    decay, warmup = draft.value("lr-decay-inv-sqrt", period, (0, "u")), draft.value("lr-warmup", period, (0, "u"))
    later = msg(f"the rate falls there from update {decay[0]:,} on, and here from the end of the warm-up on")
    schedule, note = ("inverse-square-root", later if decay != warmup else "") if decay[0] else ("constant", "")
    draft.set("training.schedule", schedule, "lr-decay-inv-sqrt", note=note)
    if _updates(draft, "training.warmup", "lr-warmup") is None:
        draft.set("training.warmup", max(decay[0], 1), "lr-decay-inv-sqrt")


def _optimiser(draft: Draft) -> None:
    name = draft.value("optimizer", text, "adam")
    values = draft.value("optimizer-params", numbers, [])
    if name == "adam" and len(values) > 3 and values[3]:
        draft.set("training.optimiser", "adamw", "optimizer", "optimizer-params")
        draft.set("training.weight_decay", values[3], "optimizer-params")
    else:
        equivalents.optimiser(draft, "optimizer", name, {"adam": "adam", "sgd": "sgd", "adagrad": "adagrad"})
    if name == "sgd":
        draft.add("training.momentum", 0.0, msg("Marian's sgd has no momentum"))
    if name == "adam":
        meant = [*values, *(0.9, 0.999, 1e-8)[len(values) :]]
        for key, value in zip(("beta1", "beta2", "epsilon"), meant, strict=False):
            draft.set(f"training.{key}", value, "optimizer-params")
    average = draft.value("exponential-smoothing", lambda value: 1e-4 if value is True else number(value), 0.0)
    equivalents.moving_average(draft, "exponential-smoothing", average)


def _batches(draft: Draft) -> None:
    given, sentences = draft.value("mini-batch-words", integer), draft.value("mini-batch", integer)
    fit = draft.value("mini-batch-fit", boolean, False)
    if given:
        note = msg(
            "source tokens there (target tokens in some versions), without padding; positions of the longer side here"
        )
        draft.set("batches.tokens", given, "mini-batch-words", note=note)
    elif fit:
        note = msg(
            "as many as fit into the memory; openwork needs a number: raise batches.tokens until the memory is full"
        )
        draft.warn("mini-batch-fit", note)
        draft.warn("mini-batch", "the most sentences beside --mini-batch-fit; openwork counts tokens")
        draft.to_do.append(msg("choose batches.tokens: Marian fills the memory (--mini-batch-fit)"))
    elif sentences:
        equivalents.sentence_batches(draft, sentences, "mini-batch")
    delay = draft.value("optimizer-delay", number)
    if delay is not None:
        note = "" if delay >= 1 and delay == int(delay) else msg("openwork counts whole batches")
        draft.set("training.accumulate", max(1, int(delay)), "optimizer-delay", note=note)
    note = msg("openwork trains on one device: multiply training.accumulate by their number")
    draft.same("devices", "one device", len(draft.value("devices", words, [])) <= 1, warning=note)


def _stopping(draft: Draft) -> None:
    after = draft.value("after", period, (0, "e"))
    if after[0] and after[1] == "u":
        draft.set("training.steps", after[0], "after")
    else:
        draft.warn("after", "openwork counts in updates: set training.steps")
        updates, epochs = draft.given("after-batches"), draft.given("after-epochs")
        equivalents.steps(draft, updates, epochs, msg("Marian trains until nothing gets better"))
    _updates(draft, "training.validate_every", "valid-freq")
    _updates(draft, "training.log_every", "disp-freq")
    metrics = draft.value("valid-metrics", words, ["cross-entropy"])
    equivalents.validation_metric(draft, metrics[0] if metrics else "cross-entropy", "valid-metrics")
    equivalents.other_endings(draft, patience=True)


def _search(draft: Draft) -> None:
    prefix = "decode." if draft.given("decode.beam-size", "decode.normalize") else ""
    draft.set("decoding.beam", draft.first(integer, "decode.beam-size", "beam-size"), f"{prefix}beam-size")
    alpha = draft.first(
        lambda value: 1.0 if value is True else number(value), f"{prefix}normalize", "normalize", otherwise=0.0
    )
    equivalents.power_penalty(draft, f"{prefix}normalize", alpha)
    if prefix:
        draft.same(("beam-size", "normalize"), "the value of marian-decoder is taken")
    factor = draft.given("decode.max-length-factor", "max-length-factor")
    if factor:
        equivalents.length_ratio(draft, draft.value(factor, number), 0.0, factor)
    if draft.value("decode.n-best", boolean, False):
        draft.set("decoding.best", 4, "decode.n-best", note=msg("as many as the beam there"))


MARIAN = read_toolkit(
    "marian",
    (_presets, _model, _data, _learning, _optimiser, _batches, _stopping, _search),
    lambda shown: shown.lstrip("-"),
)
