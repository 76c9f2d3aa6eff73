"""OpenNMT-py's configurations (YAML) and command lines, read from its version 3.5; Eole's build on the same names."""

from openwork.base.messages import msg
from openwork.migration import equivalents
from openwork.migration.draft import Draft
from openwork.migration.options import boolean, integer, number, numbers, text, words
from openwork.migration.rules import read_toolkit

RELATIVE = "max_relative_positions"
POSITIONS = {"Learned": "learned", "Relative": "relative", "Rotary": "rotary", "Alibi": "alibi"}
ATTENTIONS = {"mlp": "additive", "dot": "dot", "general": "general", "none": "none"}  # OpenNMT's names -> openwork's
CELLS = {"lstm": "lstm", "gru": "gru"}
MODELS = ("src_subword_model", "tgt_subword_model")
RECURRENT = ("rnn_type", "global_attention")
SAMPLING = ("random_sampling_topk", "random_sampling_topp", "random_sampling_temp")
PRECISIONS = {"fp32": "float32", "fp16": "bfloat16", "bf16": "bfloat16"}


def _data(draft: Draft) -> None:
    given = [name.split(".") for name in draft.names() if name.startswith("data.") and name.count(".") >= 2]
    corpora = list(dict.fromkeys(parts[1] for parts in given))
    training = [f"data.{corpus}" for corpus in corpora if corpus != "valid"]
    if len(training) == 1:
        _files(draft, training[0], "")
        draft.same(f"{training[0]}.weight", "a single corpus needs no weight")
    elif training:
        _mix(draft, training)
    _files(draft, "data.valid", "valid_")
    for parts in given:
        if parts[2] not in ("path_src", "path_tgt", "weight"):
            _transform(draft, ".".join(parts))
    _transform(draft, "transforms")
    equivalents.no_text_files(draft, None, None, msg("the configuration names no corpus"))


def _files(draft: Draft, corpus: str, prefix: str) -> None:
    for side, key in (("path_src", "source"), ("path_tgt", "target")):
        equivalents.text_file(draft, f"data.{prefix}{key}", draft.value(f"{corpus}.{side}", text), f"{corpus}.{side}")


def _mix(draft: Draft, corpora: list[str]) -> None:
    """Several corpora: they take turns there, each with as many sentences as its weight says."""
    mix, names = [], []
    for corpus in corpora:
        source, target = (draft.value(f"{corpus}.{side}", text) for side in ("path_src", "path_tgt"))
        if source and target:
            mix.append({"source": source, "target": target, "weight": draft.value(f"{corpus}.weight", number, 1.0)})
            names += [f"{corpus}.{part}" for part in ("path_src", "path_tgt", "weight")]
    draft.set("data.mix", mix or None, *names)


def _transform(draft: Draft, name: str) -> None:
    """What is done to the texts on their way into the model."""
    if not draft.given(name):
        return
    if not name.endswith("transforms"):
        draft.missing(name, "belongs to a transform; openwork changes no text on its way")
        return
    found = draft.value(name, words, [])
    if not found:
        draft.same(name, "nothing is done to the text")
    for transform in found:
        if transform == "sentencepiece" and draft.value(MODELS[0], text):
            source, target = (draft.value(model, text) for model in MODELS)
            equivalents.sentence_piece(draft, source, target, *MODELS)
            draft.set("text.source_file", source, name)
        elif transform in ("sentencepiece", "bpe", "onmt_tokenize"):
            kind = "unigram" if transform == "sentencepiece" else "byte-pair"
            note = msg(f"{transform}: openwork learns its pieces from the training text when training begins")
            draft.set("text.kind", kind, name, note=note)
        elif transform == "filtertoolong":
            draft.warn(name, f"{transform}: by tokens there; openwork's filters count characters (filters.*)")
        else:
            draft.warn(name, f"{transform}: openwork changes no text on its way: change the files before training")


def _vocabulary(draft: Draft) -> None:
    draft.copy("text.shared", "share_vocab", boolean, False)
    names = ("share_embeddings", "share_decoder_embeddings")
    sides, target = (draft.value(name, boolean, False) for name in names)
    if sides and not draft.current("text.shared"):
        draft.warn("share_embeddings", "needs one vocabulary: share_vocab is not set")
    equivalents.tying(draft, all_three=False, target=target, sides=sides, names=names)
    for name in ("src_subword_alpha", "tgt_subword_alpha"):
        equivalents.sampling(draft, name, draft.value(name, number, 0.0))


def _model(draft: Draft) -> None:
    kinds = [draft.value(name, text, "rnn") for name in ("encoder_type", "decoder_type")]
    kinds = [draft.value("architecture", text, kind) for kind in kinds]
    recurrent = any(kind in ("rnn", "brnn") for kind in kinds)
    known = recurrent or all(kind == "transformer" for kind in kinds)
    other = next((kind for kind in kinds if kind != "transformer"), "")
    note = "" if known else msg(f"openwork has the Transformer and an LSTM, not {other}")
    names = ("encoder_type", "decoder_type", "architecture")
    draft.set("model.kind", "recurrent" if recurrent else "transformer", *names, note=note)
    (_recurrent if recurrent else _transformer)(draft)
    for stack, name in (("encoder", "enc_layers"), ("decoder", "dec_layers")):
        found = draft.given(name, "layers") or name
        draft.set(f"model.{stack}_layers", draft.value(found, integer, 2), found, name)
    hidden = draft.first(integer, "hidden_size", "enc_hid_size", otherwise=500)
    draft.set("model.width", hidden, "hidden_size", "enc_hid_size", "dec_hid_size")
    differs = msg(f"embeddings are as wide as the model here ({hidden}); see model.embedding_width")
    for name in ("word_vec_size", "src_word_vec_size", "tgt_word_vec_size"):
        if draft.given(name):
            is_same = draft.value(name, integer) in (hidden, -1)
            draft.same(name, "embeddings are as wide as the model", is_same, warning=differs)


def _recurrent(draft: Draft) -> None:
    draft.copy("model.dropout", "dropout", number)
    cell, attention = draft.value("rnn_type", text, "LSTM").lower(), draft.value("global_attention", text, "general")
    draft.choose("model.cell", cell, CELLS, msg("openwork's cells are rnn, lstm and gru"), "rnn_type")
    reason = msg("openwork's attention is additive, dot or general")
    draft.choose("model.attention", attention, ATTENTIONS, reason, "global_attention")


def _transformer(draft: Draft) -> None:
    draft.add("model.norm", "pre", msg(f"{draft.toolkit}'s Transformer normalises before each sub-layer"))
    draft.copy("model.heads", "heads", integer)
    draft.same(RECURRENT, "about a recurrent model, which this is not")
    draft.copy("model.feedforward_width", "transformer_ff", integer)
    several = msg("one for each span of steps there; the first is taken")
    for key in ("dropout", "feedforward_dropout", "attention_dropout"):
        name = key.removeprefix("feedforward_")
        found = draft.value(name, numbers, [])
        draft.set(f"model.{key}", found[0] if found else None, name, note=several if len(found) > 1 else "")
    if draft.value("multiquery", boolean, False):
        draft.set("model.key_value_heads", draft.value("num_kv", integer, 0) or 1, "multiquery", "num_kv")
    else:
        draft.set("model.key_value_heads", draft.value("heads_kv", integer) or None, "heads_kv")
    draft.copy("model.attention_bias", "add_qkvbias", boolean)
    _positions(draft)


def _positions(draft: Draft) -> None:
    relative = draft.value(RELATIVE, integer, 0)
    kind = POSITIONS.get(draft.value("position_encoding_type", text, "SinusoidalInterleaved"), "sinusoidal")
    kind = "relative" if relative > 0 else {-1: "rotary", -2: "alibi"}.get(relative, kind)
    given = draft.given("position_encoding")
    off = kind == "sinusoidal" and given and not draft.value("position_encoding", boolean, True)
    kind = "none" if off and draft.toolkit == "OpenNMT-py" else kind
    draft.set("model.positions", kind, RELATIVE, "position_encoding_type", "position_encoding")
    count = relative if relative > 0 else draft.value("n_positions", integer)
    if kind == "relative":
        draft.set("model.relative_distance", count, RELATIVE, "n_positions")
    elif kind == "learned":
        draft.set("model.maximum_length", count, "n_positions")


def _learning(draft: Draft) -> None:
    method, rate = draft.value("decay_method", text, "none"), draft.value("learning_rate", number, 1.0)
    warmup, scale, note = draft.value("warmup_steps", integer, 4000), "learning_rate", ""
    if method in ("noam", "noamwd"):
        lowered = msg("lowered further in steps there; openwork has the paper's schedule as it is")
        draft.set("training.schedule", "paper", "decay_method", note="" if method == "noam" else lowered)
        scale = "schedule_scale"
    elif method == "rsqrt":
        draft.set("training.schedule", "inverse-square-root", "decay_method")
        note = msg("learning_rate / sqrt(step) there, held during the warm-up; here a peak, to which the rate rises")
        rate, warmup = equivalents.peak_rate(rate, warmup), max(warmup, 1)
    else:
        schedule = "cosine" if method == "cosine" else "constant"
        draft.set("training.schedule", schedule, "decay_method")
        warmup = max(warmup, 1) if schedule == "cosine" else 1
    draft.set(f"training.{scale}", rate, "learning_rate", note=note)
    draft.set("training.warmup", warmup, "warmup_steps")
    _decay(draft, steps_there=method in ("none", "noamwd"))


def _decay(draft: Draft, *, steps_there: bool) -> None:
    """The rate that is halved every so many steps from some step on."""
    start, end = draft.value("start_decay_steps", integer, 50_000), draft.value("train_steps", integer, 100_000)
    falls = steps_there and start < end
    missing = msg("openwork's rate falls smoothly (linear, cosine, inverse-square-root), not in steps")
    names = ("learning_rate_decay", "start_decay_steps", "decay_steps")
    draft.same(names, "without effect in the toolkit", not falls, missing=missing)
    if falls and draft.value("decay_method", text, "none") == "none":
        draft.remarks.append(
            msg(
                f"{draft.toolkit} multiplies the rate by {draft.value('learning_rate_decay', number, 0.5):g} in steps "
                f"from {start:,} on; the run file has a constant rate"
            )
        )


def _optimiser(draft: Draft) -> None:
    name = draft.value("optim", text, "sgd")
    decay = draft.value("weight_decay", number, 0.0)
    known = {name: name for name in ("adam", "sgd", "adagrad", "adafactor")}
    known |= {"fusedadam": "adam", "sparseadam": "adam", "adamw": "adamw" if decay else "adam"}
    equivalents.optimiser(draft, "optim", name, known)
    equivalents.weight_decay(draft, "weight_decay", decay, name)
    if name == "sgd":
        draft.add("training.momentum", 0.0, msg(f"{draft.toolkit}'s sgd has no momentum"))
    equivalents.moving_average(draft, "average_decay", draft.value("average_decay", number, 0.0))


def _batches(draft: Draft) -> None:
    size, kind = draft.value("batch_size", integer, 64), draft.value("batch_type", text, "sents")
    if kind == "tokens":
        draft.set("batches.tokens", size, "batch_size", "batch_type")
    else:
        equivalents.sentence_batches(draft, size, "batch_size", "batch_type")
    counts = draft.value("accum_count", numbers, [])
    note = msg("one for each span of steps there; the last is taken") if len(counts) > 1 else ""
    draft.set("training.accumulate", int(counts[-1]) if counts else None, "accum_count", note=note)
    devices = max(draft.value("world_size", integer, 1), len(draft.value("gpu_ranks", words, [])))
    several = msg(f"openwork trains on one device: multiply training.accumulate by {devices}")
    draft.same(("world_size", "gpu_ranks"), "one device", devices <= 1, warning=several)


def _stopping(draft: Draft) -> None:
    patience = draft.value("early_stopping", integer, 0)
    if patience:
        draft.set("training.patience", max(patience, 1), "early_stopping")
    else:
        draft.same("early_stopping", "none in the toolkit; see the remarks for openwork's")
    equivalents.other_endings(draft, patience=patience > 0)
    metrics = draft.value("valid_metrics", words, [])
    if metrics:
        equivalents.validation_metric(draft, metrics[0].lower(), "valid_metrics")
    elif draft.has("valid_metrics"):
        draft.same("valid_metrics", "none besides the loss")
    seed = draft.value("seed", integer, -1)
    if seed >= 0:
        draft.set("training.seed", seed, "seed")
    else:
        draft.same("seed", "any; openwork has a default seed")
    kind = draft.first(text, "model_dtype", "compute_dtype", otherwise="fp32")
    note = msg("openwork computes in float32 or bfloat16, never in float16") if kind == "fp16" else ""
    draft.set("training.precision", PRECISIONS.get(kind), "model_dtype", "compute_dtype", note=note)


def _search(draft: Draft) -> None:
    penalty, alpha = draft.value("length_penalty", text, "avg"), draft.value("alpha", number, 1.0)
    if penalty == "avg":
        equivalents.power_penalty(draft, "alpha", alpha, "length_penalty")
    else:
        draft.set("decoding.length_penalty", alpha if penalty == "wu" else 0.0, "alpha", "length_penalty")
    coverage, beta = draft.value("coverage_penalty", text, "none"), draft.value("beta", number, 0.0)
    if coverage == "wu":
        draft.set("decoding.coverage_penalty", abs(beta), "beta", "coverage_penalty")
    elif coverage == "none":
        draft.same("coverage_penalty", "none")
        draft.same("beta", "belongs to the coverage penalty, which is not used")
    else:
        draft.missing("coverage_penalty", "openwork has the coverage penalty of Wu et al. 2016 (wu)")
    ratio = draft.value("max_length_ratio", number)
    if draft.given("max_length_ratio") and ratio:
        equivalents.length_ratio(draft, ratio, 5.0, "max_length_ratio")


def _sampling(draft: Draft) -> None:
    best, nucleus = draft.value(SAMPLING[0], integer, 0), draft.value(SAMPLING[1], number, 0.0)
    if best in (0, 1) and not nucleus:
        draft.same(SAMPLING, "nothing is drawn at random")
        return
    draft.set("decoding.samples", draft.value("n_best", integer, 1), *SAMPLING[:2])
    draft.set("decoding.top_k", max(best, 0), SAMPLING[0])
    draft.set("decoding.top_p", nucleus or 1.0, SAMPLING[1])
    draft.copy("decoding.temperature", SAMPLING[2], number)


OPENNMT = read_toolkit(
    "opennmt",
    (_data, _vocabulary, _model, _learning, _optimiser, _batches, _stopping, _search, _sampling),
    lambda shown: shown.lstrip("-").replace("-", "_"),
)
