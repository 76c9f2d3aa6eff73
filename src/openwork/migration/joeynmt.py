"""JoeyNMT's configurations (YAML), read from its version 2.3."""

from openwork.base.messages import msg
from openwork.migration import equivalents
from openwork.migration.draft import Draft
from openwork.migration.options import boolean, integer, number, text
from openwork.migration.rules import read_toolkit

SIDES = ("data.src", "data.trg")
STACKS = ("model.encoder", "model.decoder")
LEVELS = {"bpe": "byte-pair", "char": "characters", "word": "words"}
ATTENTIONS = {"bahdanau": "additive", "luong": "general"}  # JoeyNMT's names -> openwork's
ACTIVATIONS = {name: name for name in ("relu", "gelu", "swish")}
TYING = ("model.tied_embeddings", "model.tied_softmax")
WARMUP, RATE, PEAK, FACTOR = (f"training.learning_rate{suffix}" for suffix in ("_warmup", "", "_peak", "_factor"))


def of_both(stacks: tuple[str, ...], name: str) -> list[str]:
    """The option of each side, or of each stack."""
    return [f"{stack}.{name}" for stack in stacks]


def _data(draft: Draft) -> None:
    source, target = (draft.value(f"{side}.lang", text) for side in SIDES)
    kind = draft.value("data.dataset_type", text, "plain")
    for name, prefix in (("data.train", "data."), ("data.dev", "data.valid_")):
        path = draft.value(name, text)
        if path and kind == "plain" and source and target:
            equivalents.text_files(draft, prefix, path, (source, target), name)
        elif path and kind == "tsv":
            draft.set(f"{prefix}tsv", f"{path}.tsv", name)
        elif path:
            draft.missing(name, f"openwork reads files of text, not a data set of the kind {kind}")
    missing = msg("openwork reads files of text; openwork data lists the corpora it can fetch")
    draft.same("data.dataset_type", "the files named in [data] decide it", kind in ("plain", "tsv"), missing=missing)
    equivalents.no_text_files(draft, source, target, msg("JoeyNMT's data set is not one of text files"))


def _text(draft: Draft) -> None:
    level = draft.value("data.src.level", text, "bpe")
    kind = LEVELS.get(level)
    if kind is None:
        draft.missing("data.src.level", f"openwork cuts text into pieces, characters or words, not by {level}")
    levels, types = of_both(SIDES, "level"), of_both(SIDES, "tokenizer_type")
    if level == "bpe" and draft.value(types[0], text, "sentencepiece") == "sentencepiece":
        kind = "byte-pair" if draft.value("data.src.tokenizer_cfg.model_type", text) == "bpe" else "unigram"
        models = of_both(SIDES, "tokenizer_cfg.model_file")
        if source := draft.value(models[0], text):
            kind = None
            equivalents.sentence_piece(draft, source, draft.value(models[1], text), *models)
            draft.same((*types, *levels), "text.source_file names the SentencePiece model")
    draft.set("text.kind", kind, *levels, *types)
    for side in SIDES:
        draft.set("text.kind", kind, f"{side}.tokenizer_cfg.model_type")


def _vocabulary(draft: Draft) -> None:
    sizes = of_both(SIDES, "voc_limit") + of_both(SIDES, "tokenizer_cfg.num_merges")
    found = [name for name in sizes if draft.value(name, integer)]
    if found:
        draft.set("text.vocabulary_size", draft.value(found[0], integer), *found)
    for name in (f"{side}.tokenizer_cfg.{key}" for side in SIDES for key in ("dropout", "alpha")):
        equivalents.sampling(draft, name, draft.value(name, number, 0.0))


def _model(draft: Draft) -> None:
    types = of_both(STACKS, "type")
    recurrent = "recurrent" in [draft.value(name, text, "recurrent") for name in types]
    draft.set("model.kind", "recurrent" if recurrent else "transformer", *types)
    for stack in STACKS:
        name, note = f"{stack}.embeddings.embedding_dim", msg("embeddings are as wide as the model")
        width = draft.value(name, integer)
        differs = msg(f"openwork's embeddings are as wide as the model, not {width}")
        draft.same(name, note, width == draft.value(f"{stack}.hidden_size", integer), warning=differs)
    (_recurrent if recurrent else _transformer)(draft)
    sides, target = (draft.value(name, boolean, False) for name in TYING)
    equivalents.tying(draft, all_three=False, target=target, sides=sides, names=TYING)
    if not sides:
        source = draft.first(text, "data.src.voc_file")
        draft.set("text.shared", source == draft.first(text, "data.trg.voc_file", otherwise=0))


def _transformer(draft: Draft) -> None:
    equivalents.one_for_both(draft, "model.norm", of_both(STACKS, "layer_norm"), text)
    for key in ("dropout", "attention_dropout", "feedforward_dropout"):  # one number stands for the three of them
        equivalents.one_for_both(draft, f"model.{key}", of_both(STACKS, "dropout"), number)
    draft.add("model.attention_bias", True, msg("JoeyNMT's projections have biases"))
    for stack in STACKS:
        activation = draft.value(f"{stack}.activation", text, "relu")
        reason = msg(f"openwork has relu, gelu, swish and gated ones, not {activation}")
        draft.choose("model.feedforward", activation, ACTIVATIONS, reason, f"{stack}.activation")
        draft.copy("model.embedding_scale", f"{stack}.embeddings.scale", boolean, False)
    _embedding_dropout(draft)


def _embedding_dropout(draft: Draft) -> None:
    for stack in STACKS:
        name = f"{stack}.embeddings.dropout"
        is_same = draft.value(name, number) == draft.value(f"{stack}.dropout", number)
        equivalents.embedding_dropout(draft, name, is_same)


def _recurrent(draft: Draft) -> None:
    equivalents.one_for_both(draft, "model.cell", of_both(STACKS, "rnn_type"), text)
    draft.missing(of_both(STACKS, "activation"), "a recurrent model has no feed-forward network")
    scales = of_both(STACKS, "embeddings.scale")
    draft.missing(scales, "openwork does not scale a recurrent model's embeddings")
    equivalents.one_for_both(draft, "model.dropout", of_both(STACKS, "dropout"), number)
    _embedding_dropout(draft)
    draft.same("model.encoder.bidirectional", "the encoder reads in both directions")
    if not draft.value("model.encoder.bidirectional", boolean, True):
        draft.warn("model.encoder.bidirectional", "openwork's encoder reads in both directions always")
    attention = draft.value("model.decoder.attention", text, "bahdanau")
    reason = msg("openwork's attention is additive, dot or general")
    draft.choose("model.attention", attention, ATTENTIONS, reason, "model.decoder.attention")
    names = [f"model.decoder.{name}" for name in ("hidden_dropout", "input_feeding", "init_hidden")]
    draft.missing(names, "openwork has one kind of recurrent model (openwork info)")


def _learning(draft: Draft) -> None:
    schedule = draft.value("training.scheduling", text, "none")
    if schedule == "noam":
        draft.set("training.schedule", "paper", "training.scheduling")
        draft.copy("training.schedule_scale", FACTOR, number)
        draft.same(RATE, "the schedule of the paper has no rate to choose")
    elif schedule == "warmupinversesquareroot":
        draft.set("training.schedule", "inverse-square-root", "training.scheduling")
        draft.copy("training.learning_rate", draft.given(PEAK) or RATE, number)
    else:
        note = (
            "" if schedule == "none" else msg(f"openwork has no schedule {schedule!r}; cosine or linear fall as well")
        )
        draft.set("training.schedule", "constant", "training.scheduling", note=note)
        draft.copy("training.learning_rate", RATE, number)
        draft.set("training.warmup", 1, WARMUP)
    if schedule in ("noam", "warmupinversesquareroot"):
        draft.copy("training.warmup", WARMUP, integer)


def _optimiser(draft: Draft) -> None:
    name = draft.value("training.optimizer", text, "adam").lower()
    decay = draft.value("training.weight_decay", number, 0.0)
    known = {name: name for name in ("adam", "adamw", "sgd", "adagrad")}
    if name == "adamw" and not decay:
        known["adamw"] = "adam"  # the same without decay
    equivalents.optimiser(draft, "training.optimizer", name, known)
    equivalents.weight_decay(draft, "training.weight_decay", decay, name)
    equivalents.betas(draft, "training.adam_betas")


def _smoothing(draft: Draft) -> None:
    smoothing = draft.value("training.label_smoothing", number)
    note = msg("spread there over all but the right token and the padding, here over all but the right token")
    draft.set("training.label_smoothing", smoothing, "training.label_smoothing", note=note if smoothing else "")
    draft.set("training.smoothing_form", "others" if smoothing else None, "training.label_smoothing")


def _batches(draft: Draft) -> None:
    names = ("training.batch_size", "training.batch_type")
    size = draft.value(names[0], integer)
    if draft.value(names[1], text, "sentence") == "token":
        draft.set("batches.tokens", size, *names)
    elif size:
        equivalents.sentence_batches(draft, size, *names)


def _stopping(draft: Draft) -> None:
    usual = msg("JoeyNMT counts epochs where it is given no updates")
    equivalents.steps(draft, "training.updates", "training.epochs", usual)
    metric = "training.early_stopping_metric"
    equivalents.validation_metric(draft, draft.value(metric, text, "ppl").lower(), metric)
    equivalents.other_endings(draft, patience=False)


def _search(draft: Draft) -> None:
    penalties = ("testing.beam_alpha", "testing.alpha")
    alpha = draft.first(number, *penalties, otherwise=-1.0)
    draft.set("decoding.length_penalty", max(alpha, 0.0), *penalties)
    longest = draft.value("testing.max_output_length", integer, -1)
    if longest > 0:
        draft.set("decoding.maximum_length", longest, "testing.max_output_length")
    else:
        draft.warn("testing.max_output_length", "1.5 x the source there; openwork: source + decoding.extra_length")
    penalty = draft.value("testing.repetition_penalty", number, -1)
    draft.set("decoding.repetition_penalty", max(penalty, 1.0), "testing.repetition_penalty")


JOEYNMT = read_toolkit(
    "joeynmt", (_data, _text, _vocabulary, _model, _learning, _optimiser, _smoothing, _batches, _stopping, _search), str
)
