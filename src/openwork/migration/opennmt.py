"""OpenNMT-py's configurations (YAML) and command lines, read from its version 3.5; Eole's build on the same names."""

from math import sqrt

from openwork.migration.draft import Draft
from openwork.migration.meaning import (
    besides,
    checkpoints_of_best,
    length_ratio,
    no_text_files,
    one_for_both,
    optimiser,
    power_penalty,
    sampling,
    sentence_piece,
    text_file,
    tying,
    weight_decay,
)
from openwork.migration.opennmt_options import SEARCH, WITHOUT
from openwork.migration.options import boolean, integer, number, numbers, text, words
from openwork.migration.rules import Always, ChoiceRule, OptionRule, To, Toolkit, table

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu-tanh": "gelu",
    "gated-gelu": "geglu",
    "gated-gelu-tanh": "geglu",
    "gated-silu": "swiglu",
}
RELATIVE = "max_relative_positions"


def _data(draft: Draft) -> None:
    given = [name.split(".") for name in draft.names() if name.startswith("data.") and name.count(".") >= 2]
    corpora = list(dict.fromkeys(parts[1] for parts in given))
    training = [f"data.{corpus}" for corpus in corpora if corpus != "valid"]
    if len(training) == 1:
        for side, key in (("path_src", "source"), ("path_tgt", "target")):
            text_file(draft, f"data.{key}", draft.value(f"{training[0]}.{side}", text), f"{training[0]}.{side}")
        draft.same(f"{training[0]}.weight", "a single corpus needs no weight")
    elif training:
        _mix(draft, training)
    for side, key in (("path_src", "valid_source"), ("path_tgt", "valid_target")):
        text_file(draft, f"data.{key}", draft.value(f"data.valid.{side}", text), f"data.valid.{side}")
    for parts in given:
        if parts[2] not in ("path_src", "path_tgt", "weight"):
            _transform(draft, ".".join(parts))
    _transform(draft, "transforms")
    no_text_files(draft, None, None, "the configuration names no corpus")


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
        if transform == "sentencepiece" and draft.value("src_subword_model", text):
            models = ("src_subword_model", "tgt_subword_model")
            source, target = (draft.value(model, text) for model in models)
            sentence_piece(draft, source, target, *models)
            draft.set("text.source_file", source, name)
        elif transform in ("sentencepiece", "bpe", "onmt_tokenize"):
            kind = "unigram" if transform == "sentencepiece" else "byte-pair"
            note = f"{transform}: openwork learns its pieces from the training text when training begins"
            draft.set("text.kind", kind, name, note=note)
        elif transform == "filtertoolong":
            draft.mind(name, f"{transform}: by tokens there; openwork's filters count characters (filters.*)")
        else:
            draft.mind(name, f"{transform}: openwork changes no text on its way: change the files before training")


def _vocabulary(draft: Draft) -> None:
    one_for_both(draft, "text.vocabulary_size", ["src_vocab_size", "tgt_vocab_size"], integer)
    one_for_both(
        draft, "text.minimum_frequency", ["src_words_min_frequency", "tgt_words_min_frequency"], _at_least_once
    )
    draft.set("text.shared", draft.value("share_vocab", boolean, False), "share_vocab")
    sides, target = (draft.value(f"share_{name}embeddings", boolean, False) for name in ("", "decoder_"))
    names = ("share_embeddings", "share_decoder_embeddings")
    if sides and not draft.holds("text.shared"):
        draft.mind("share_embeddings", "needs one vocabulary: share_vocab is not set")
    tying(draft, all_three=False, target=target, sides=sides, names=names)
    for side in ("src", "tgt"):
        sampling(draft, f"{side}_subword_alpha", draft.value(f"{side}_subword_alpha", number, 0.0))


def _at_least_once(value: object) -> int:
    return max(1, integer(value))


def _model(draft: Draft) -> None:
    kinds = [draft.value(name, text, "rnn") for name in ("encoder_type", "decoder_type")]
    kinds = [draft.value("architecture", text, kind) for kind in kinds]
    names = ("encoder_type", "decoder_type", "architecture")
    if all(kind == "transformer" for kind in kinds):
        draft.set("model.kind", "transformer", *names)
        _transformer(draft)
    elif any(kind in ("rnn", "brnn") for kind in kinds):
        draft.set("model.kind", "recurrent", *names)
        _recurrent(draft)
    else:
        draft.set("model.kind", "transformer", *names, note=f"openwork has the Transformer and an LSTM, not {kinds[0]}")
        _transformer(draft)
    for stack, name in (("encoder", "enc_layers"), ("decoder", "dec_layers")):
        found = draft.given(name, "layers") or name
        draft.set(f"model.{stack}_layers", draft.value(found, integer, 2), found, name)
    hidden = draft.first(integer, "hidden_size", "enc_hid_size", otherwise=500)
    draft.set("model.width", hidden, "hidden_size", "enc_hid_size", "dec_hid_size")
    vectors = [name for name in ("word_vec_size", "src_word_vec_size", "tgt_word_vec_size") if draft.given(name)]
    for name in vectors:
        if draft.value(name, integer) in (hidden, -1):
            draft.same(name, "embeddings are as wide as the model")
        else:
            draft.mind(name, f"embeddings are as wide as the model here ({hidden}); see model.embedding_width")


# OpenNMT's names for attention -> ours.
ATTENTIONS = {"mlp": "additive", "dot": "dot", "general": "general", "none": "none"}


def _recurrent(draft: Draft) -> None:
    draft.set("model.dropout", draft.value("dropout", number), "dropout")
    cell, attention = draft.value("rnn_type", text, "LSTM").lower(), draft.value("global_attention", text, "general")
    if cell in ("lstm", "gru"):
        draft.set("model.cell", cell, "rnn_type")
    else:
        draft.missing("rnn_type", "openwork's cells are rnn, lstm and gru")
    if attention in ATTENTIONS:
        draft.set("model.attention", ATTENTIONS[attention], "global_attention")
    else:
        draft.missing("global_attention", "openwork's attention is additive, dot or general")


def _transformer(draft: Draft) -> None:
    draft.say("model.norm", "pre", f"{draft.toolkit}'s Transformer normalises before each sub-layer")
    draft.set("model.heads", draft.value("heads", integer), "heads")
    for name in ("rnn_type", "global_attention"):
        draft.same(name, "about a recurrent model, which this is not")
    draft.set("model.feedforward_width", draft.value("transformer_ff", integer), "transformer_ff")
    several = "one for each span of steps there; the first is taken"
    for key, name in (
        ("dropout", "dropout"),
        ("feedforward_dropout", "dropout"),
        ("attention_dropout", "attention_dropout"),
    ):
        found = draft.value(name, numbers, [])
        draft.set(f"model.{key}", found[0] if found else None, name, note=several if len(found) > 1 else "")
    if draft.value("dropout_steps", numbers, [0]) == [0]:
        draft.same("dropout_steps", "one dropout for all the training")
    else:
        draft.missing("dropout_steps", "openwork has one dropout for all the training")
    if draft.value("multiquery", boolean, False):
        draft.set("model.key_value_heads", draft.value("num_kv", integer, 0) or 1, "multiquery", "num_kv")
    elif draft.value("heads_kv", integer):
        draft.set("model.key_value_heads", draft.value("heads_kv", integer), "heads_kv")
    draft.set("model.attention_bias", draft.value("add_qkvbias", boolean), "add_qkvbias")
    _positions(draft)


def _positions(draft: Draft) -> None:
    relative = draft.value(RELATIVE, integer, 0)
    kinds = {"Learned": "learned", "Relative": "relative", "Rotary": "rotary", "Alibi": "alibi"}
    kind = kinds.get(draft.value("position_encoding_type", text, "SinusoidalInterleaved"), "sinusoidal")
    kind = "relative" if relative > 0 else {-1: "rotary", -2: "alibi"}.get(relative, kind)
    if (
        kind == "sinusoidal"
        and draft.given("position_encoding")
        and not draft.value("position_encoding", boolean, True)
    ):
        kind = "none" if draft.toolkit == "OpenNMT-py" else kind
    draft.set("model.positions", kind, RELATIVE, "position_encoding_type", "position_encoding")
    count = relative if relative > 0 else draft.value("n_positions", integer)
    if kind == "relative":
        draft.set("model.relative_distance", count, RELATIVE, "n_positions")
    elif kind == "learned":
        draft.set("model.longest", count, "n_positions")


def _learning(draft: Draft) -> None:
    method, rate = draft.value("decay_method", text, "none"), draft.value("learning_rate", number, 1.0)
    warmup = draft.value("warmup_steps", integer, 4000)
    if method in ("noam", "noamwd"):
        note = "" if method == "noam" else "lowered further in steps there; openwork has the paper's schedule as it is"
        draft.set("training.schedule", "paper", "decay_method", note=note)
        draft.set("training.schedule_scale", rate, "learning_rate")
        draft.set("training.warmup", warmup, "warmup_steps")
    elif method == "rsqrt":
        note = "learning_rate / sqrt(step) there, held during the warm-up; here a peak, to which the rate rises"
        draft.set("training.schedule", "inverse-square-root", "decay_method")
        draft.set("training.learning_rate", float(f"{rate / sqrt(max(warmup, 1)):.6g}"), "learning_rate", note=note)
        draft.set("training.warmup", max(warmup, 1), "warmup_steps")
    elif method == "cosine":
        draft.set("training.schedule", "cosine", "decay_method")
        draft.set("training.learning_rate", rate, "learning_rate")
        draft.set("training.warmup", max(warmup, 1), "warmup_steps")
    else:
        draft.set("training.schedule", "constant", "decay_method")
        draft.set("training.learning_rate", rate, "learning_rate")
        draft.set("training.warmup", 1, "warmup_steps")
    _decay(draft, steps_there=method in ("none", "noamwd"))


def _decay(draft: Draft, *, steps_there: bool) -> None:
    """The rate that is halved every so many steps from some step on."""
    start, end = draft.value("start_decay_steps", integer, 50_000), draft.value("train_steps", integer, 100_000)
    for name in ("learning_rate_decay", "start_decay_steps", "decay_steps"):
        if steps_there and start < end:
            draft.missing(name, "openwork's rate falls smoothly (linear, cosine, inverse-square-root), not in steps")
        else:
            draft.same(name, "without effect there")
    if steps_there and start < end and draft.value("decay_method", text, "none") == "none":
        draft.remarks.append(
            f"{draft.toolkit} multiplies the rate by {draft.value('learning_rate_decay', number, 0.5):g} in steps from "
            f"{start:,} on; the run file has a constant rate"
        )


def _optimiser(draft: Draft) -> None:
    name = draft.value("optim", text, "sgd")
    decay = draft.value("weight_decay", number, 0.0)
    known = {name: name for name in ("adam", "sgd", "adagrad", "adafactor")}
    known |= {"fusedadam": "adam", "sparseadam": "adam", "adamw": "adamw" if decay else "adam"}
    optimiser(draft, "optim", name, known)
    weight_decay(draft, "weight_decay", decay, name)
    if name == "sgd":
        draft.say("training.momentum", 0.0, f"{draft.toolkit}'s sgd has no momentum")
    average = draft.value("average_decay", number, 0.0)
    draft.set("training.ema", float(f"{1 - average:.9g}") if average else 0.0, "average_decay")


def _batches(draft: Draft) -> None:
    size, kind = draft.value("batch_size", integer, 64), draft.value("batch_type", text, "sents")
    if kind == "tokens":
        draft.set("batches.tokens", size, "batch_size", "batch_type")
    else:
        note = "sentences there, tokens here: the value is that of 25 tokens a sentence"
        draft.set("batches.tokens", size * 25, "batch_size", "batch_type", note=note)
    counts = draft.value("accum_count", numbers, [])
    note = "one for each span of steps there; the last is taken" if len(counts) > 1 else ""
    draft.set("training.accumulate", int(counts[-1]) if counts else None, "accum_count", note=note)
    if draft.value("accum_steps", numbers, [0]) == [0]:
        draft.same("accum_steps", "one accum_count for all the training")
    else:
        draft.missing("accum_steps", "openwork accumulates the same number of batches all the time")
    devices = max(draft.value("world_size", integer, 1), len(draft.value("gpu_ranks", words, [])))
    for name in ("world_size", "gpu_ranks"):
        if devices > 1:
            draft.mind(name, f"openwork trains on one device: multiply training.accumulate by {devices}")
        else:
            draft.same(name, "one device")


def _stopping(draft: Draft) -> None:
    patience = draft.value("early_stopping", integer, 0)
    if patience:
        draft.set("training.patience", max(patience, 1), "early_stopping")
    else:
        draft.same("early_stopping", "none there; see the remarks for ours")
    besides(draft, patience=patience > 0)
    metrics = draft.value("valid_metrics", words, [])
    if metrics:
        checkpoints_of_best(draft, metrics[0].lower(), "valid_metrics")
    elif draft.has("valid_metrics"):
        draft.same("valid_metrics", "none more")
    seed = draft.value("seed", integer, -1)
    if seed >= 0:
        draft.set("training.seed", seed, "seed")
    else:
        draft.same("seed", "any; openwork's default is one")
    kind = draft.first(text, "model_dtype", "compute_dtype", otherwise="fp32")
    note = "openwork computes in float32 or bfloat16, never in float16" if kind == "fp16" else ""
    known = {"fp32": "float32", "fp16": "bfloat16", "bf16": "bfloat16"}
    draft.set("training.precision", known.get(kind), "model_dtype", "compute_dtype", note=note)


def _search(draft: Draft) -> None:
    penalty, alpha = draft.value("length_penalty", text, "avg"), draft.value("alpha", number, 1.0)
    if penalty == "wu":
        draft.set("decoding.length_penalty", alpha, "alpha", "length_penalty")
    elif penalty == "avg":
        power_penalty(draft, "alpha", alpha, "length_penalty")
    else:
        draft.set("decoding.length_penalty", 0.0, "alpha", "length_penalty")
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
        length_ratio(draft, ratio, 5.0, "max_length_ratio")
    _sampling(draft)


def _sampling(draft: Draft) -> None:
    best, nucleus = draft.value("random_sampling_topk", integer, 0), draft.value("random_sampling_topp", number, 0.0)
    names = ("random_sampling_topk", "random_sampling_topp", "random_sampling_temp")
    if best in (0, 1) and not nucleus:
        for name in names:
            draft.same(name, "nothing is drawn at random")
        return
    draft.set("decoding.samples", draft.value("n_best", integer, 1), *names[:2])
    draft.set("decoding.top_k", max(best, 0), names[0])
    draft.set("decoding.top_p", nucleus or 1.0, names[1])
    draft.set("decoding.temperature", draft.value(names[2], number), names[2])


RULES: dict[str, OptionRule] = {
    "train_steps": To("training.steps", integer),
    "valid_steps": To("training.validate_every", integer),
    "report_every": To("training.log_every", integer),
    "adam_beta1": To("training.beta1", number),
    "adam_beta2": To("training.beta2", number),
    "adam_eps": To("training.epsilon", number),
    "max_grad_norm": To("training.clip_norm", number),
    "label_smoothing": To("training.label_smoothing", number),
    "tensorboard": To("training.tensorboard", boolean),
    "layer_norm": ChoiceRule("model.normalisation", {"standard": "layer", "rms": "rms"}, "openwork has layer and rms"),
    "pos_ffn_activation_fn": ChoiceRule(
        "model.feedforward", ACTIVATIONS, "openwork has relu, gelu, and gated ones (swiglu)"
    ),
    "mlp_activation_fn": ChoiceRule(
        "model.feedforward", ACTIVATIONS, "openwork has relu, gelu, and gated ones (swiglu)"
    ),
    "normalization": Always(
        ["tokens"], "a mean over tokens", "openwork's loss is a mean over tokens, not over sentences"
    ),
    "param_init_glorot": Always([True], "Glorot uniform", "openwork's first weights are Glorot uniform"),
    "param_init_method": Always(["xavier_uniform"], "Glorot uniform", "openwork's first weights are Glorot uniform"),
    "param_init": Always([0], "Glorot uniform", "openwork's first weights are Glorot uniform"),
    "average_every": Always([1], "at each update", "openwork averages at each update"),
    "skip_empty_level": Always(
        ["silent", "warning"], "blank pairs are left out, and counted", "filters.drop_blank says it"
    ),
    "generator_function": Always(["softmax"], "softmax", "openwork has softmax alone"),
    "model_task": Always(["seq2seq"], "openwork translates", "openwork translates with one encoder and one decoder"),
    "beam_size": To("decoding.beam", integer),
    "n_best": To("decoding.best", integer),
    "max_length": To("decoding.maximum_length", integer),
    "block_ngram_repeat": To("decoding.no_repeat", integer),
    "min_length": To("decoding.minimum_length", integer),
    "ban_unk_token": Always([True], "unknown pieces never come", "openwork never writes an unknown piece"),
}

DEFAULTS = {
    "src_vocab_size": 32768,
    "tgt_vocab_size": 32768,
    "valid_steps": 10_000,
    "adam_beta2": 0.999,
    "adam_eps": 1e-8,
    "max_grad_norm": 5.0,
    "label_smoothing": 0.0,
    "dropout": [0.3],
    "attention_dropout": [0.1],
    "heads": 8,
    "transformer_ff": 2048,
    "beam_size": 5,
    "max_length": 250,
}

GROUPS = (_data, _vocabulary, _model, _learning, _optimiser, _batches, _stopping, _search)

OPENNMT = Toolkit(
    name="opennmt-py",
    title="OpenNMT-py",
    signs="the command onmt_train, or YAML with encoder_type, data.NAME.path_src, train_steps and accum_count",
    programs={"onmt_train": "", "onmt_build_vocab": "vocabulary.", "onmt_translate": "translate."},
    vague_programs={"train.py": "", "translate.py": "translate."},
    table=table(RULES, WITHOUT),
    groups=GROUPS,
    defaults=DEFAULTS,
    canonical=lambda shown: shown.lstrip("-").replace("-", "_"),
    short={"rnn_size": "hidden_size"} | {f"translate.{name}": name for name in SEARCH.split()},
    config="config",
)
