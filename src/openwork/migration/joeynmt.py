"""JoeyNMT's configurations (YAML), read from its version 2.3."""

from openwork.migration.draft import Draft
from openwork.migration.meaning import (
    FOREIGN_WEIGHTS,
    OUTSIDE,
    TESTS,
    besides,
    checkpoints_of_best,
    half_precision,
    no_text_files,
    one_for_both,
    optimiser,
    sampling,
    sentence_piece,
    steps,
    text_file,
    tying,
    weight_decay,
)
from openwork.migration.options import boolean, integer, number, numbers, text
from openwork.migration.rules import Always, OptionRule, To, Toolkit, table

SIDES = ("data.src", "data.trg")
STACKS = ("model.encoder", "model.decoder")
TOKENS_A_SENTENCE = 25


def _data(draft: Draft) -> None:
    source, target = (draft.value(f"{side}.lang", text) for side in SIDES)
    draft.set("data.source_language", source, "data.src.lang")
    draft.set("data.target_language", target, "data.trg.lang")
    kind = draft.value("data.dataset_type", text, "plain")
    for name, sides in (("train", ("source", "target")), ("dev", ("valid_source", "valid_target"))):
        path = draft.value(f"data.{name}", text)
        if path and kind == "plain" and source and target:
            for key, language in zip(sides, (source, target), strict=True):
                text_file(draft, f"data.{key}", f"{path}.{language}", f"data.{name}")
        elif path and kind == "tsv":
            draft.set("data.tsv" if name == "train" else "data.valid_tsv", f"{path}.tsv", f"data.{name}")
        elif path:
            draft.missing(f"data.{name}", f"openwork reads files of text, not a data set of the kind {kind}")
    if kind in ("plain", "tsv"):
        draft.same("data.dataset_type", "the files of [data] say it")
    else:
        draft.missing("data.dataset_type", "openwork reads files of text; openwork data lists the corpora it can fetch")
    no_text_files(draft, source, target, "JoeyNMT's data set is not one of text files")


def _text(draft: Draft) -> None:
    levels = {"bpe": "byte-pair", "char": "characters", "word": "words"}
    level = draft.value("data.src.level", text, "bpe")
    names = [f"{side}.level" for side in SIDES]
    kind = levels.get(level)
    if kind is None:
        draft.missing(names[0], f"openwork cuts text into pieces, characters or words, not by {level}")
    if level == "bpe" and draft.value("data.src.tokenizer_type", text, "sentencepiece") == "sentencepiece":
        kind = "byte-pair" if draft.value("data.src.tokenizer_cfg.model_type", text) == "bpe" else "unigram"
        models = [f"{side}.tokenizer_cfg.model_file" for side in SIDES]
        if source := draft.value(models[0], text):
            kind = None
            sentence_piece(draft, source, draft.value(models[1], text), *models)
            for side in SIDES:
                draft.same(f"{side}.tokenizer_type", "text.source_file names the SentencePiece model")
                draft.same(f"{side}.level", "text.source_file names the SentencePiece model")
    draft.set("text.kind", kind, *names, *(f"{side}.tokenizer_type" for side in SIDES))
    for side in SIDES:
        draft.set("text.kind", kind, f"{side}.tokenizer_cfg.model_type")
        for name in ("lowercase", "normalize"):
            draft.same(f"{side}.{name}", "openwork changes no text")
            if draft.value(f"{side}.{name}", boolean, False):
                draft.mind(f"{side}.{name}", "openwork keeps the text as it is: change the files before training")
        for name in ("max_length", "min_length"):
            draft.mind(f"{side}.{name}", "counted in tokens there; openwork's filters count characters (filters.*)")
    _vocabulary(draft)


def _vocabulary(draft: Draft) -> None:
    sizes = [f"{side}.voc_limit" for side in SIDES] + [f"{side}.tokenizer_cfg.num_merges" for side in SIDES]
    found = [name for name in sizes if draft.value(name, integer)]
    if found:
        draft.set("text.vocabulary_size", draft.value(found[0], integer), *found)
    one_for_both(draft, "text.minimum_frequency", [f"{side}.voc_min_freq" for side in SIDES], integer)
    for side in SIDES:
        if draft.given(f"{side}.voc_min_freq"):
            draft.mind(f"{side}.voc_min_freq", "of a piece there; of a pair of pieces, while they are learnt, here")
        for name in ("dropout", "alpha"):
            sampling(draft, f"{side}.tokenizer_cfg.{name}", draft.value(f"{side}.tokenizer_cfg.{name}", number, 0.0))


def _model(draft: Draft) -> None:
    kinds = [draft.value(f"{stack}.type", text, "recurrent") for stack in STACKS]
    recurrent = "recurrent" in kinds
    draft.set("model.kind", "recurrent" if recurrent else "transformer", *(f"{stack}.type" for stack in STACKS))
    for stack, key in zip(STACKS, ("encoder_layers", "decoder_layers"), strict=True):
        draft.set(f"model.{key}", draft.value(f"{stack}.num_layers", integer), f"{stack}.num_layers")
    one_for_both(draft, "model.width", [f"{stack}.hidden_size" for stack in STACKS], integer)
    for stack in STACKS:
        width = draft.value(f"{stack}.embeddings.embedding_dim", integer)
        if width == draft.value(f"{stack}.hidden_size", integer):
            draft.same(f"{stack}.embeddings.embedding_dim", "embeddings are as wide as the model")
        else:
            draft.mind(
                f"{stack}.embeddings.embedding_dim", f"openwork's embeddings are as wide as the model, not {width}"
            )
    (_recurrent if recurrent else _transformer)(draft)
    sides, target = (draft.value(f"model.{name}", boolean, False) for name in ("tied_embeddings", "tied_softmax"))
    names = ("model.tied_embeddings", "model.tied_softmax")
    tying(draft, all_three=False, target=target, sides=sides, names=names)
    if not sides:
        draft.set(
            "text.shared", draft.first(text, "data.src.voc_file") == draft.first(text, "data.trg.voc_file", otherwise=0)
        )


def _transformer(draft: Draft) -> None:
    one_for_both(draft, "model.heads", [f"{stack}.num_heads" for stack in STACKS], integer)
    one_for_both(draft, "model.feedforward_width", [f"{stack}.ff_size" for stack in STACKS], integer)
    one_for_both(draft, "model.norm", [f"{stack}.layer_norm" for stack in STACKS], text)
    draft.say("model.attention_bias", True, "JoeyNMT's projections have biases")
    for stack in STACKS:
        activation = draft.value(f"{stack}.activation", text, "relu")
        if activation in ("relu", "gelu", "swish"):
            draft.set("model.feedforward", activation, f"{stack}.activation")
        else:
            draft.missing(f"{stack}.activation", f"openwork has relu, gelu, swish and gated ones, not {activation}")
        scaled = f"{stack}.embeddings.scale"
        draft.set("model.embedding_scale", draft.value(scaled, boolean, False), scaled)
    for key in ("dropout", "attention_dropout", "feedforward_dropout"):  # one number stands for the three of them
        one_for_both(draft, f"model.{key}", [f"{stack}.dropout" for stack in STACKS], number)
    _embedding_dropout(draft)


def _embedding_dropout(draft: Draft) -> None:
    for stack in STACKS:
        name = f"{stack}.embeddings.dropout"
        if draft.value(name, number) == draft.value(f"{stack}.dropout", number):
            draft.same(name, "model.dropout is also that of the embeddings")
        else:
            draft.missing(name, "openwork's model.dropout is also that of the embeddings")


# JoeyNMT's names for attention -> ours; its Luong attention is the general one.
ATTENTIONS = {"bahdanau": "additive", "luong": "general"}


def _recurrent(draft: Draft) -> None:
    one_for_both(draft, "model.cell", [f"{stack}.rnn_type" for stack in STACKS], text)
    for stack in STACKS:
        draft.missing(f"{stack}.activation", "a recurrent model has no feed-forward network")
        draft.missing(f"{stack}.embeddings.scale", "openwork does not scale a recurrent model's embeddings")
    one_for_both(draft, "model.dropout", [f"{stack}.dropout" for stack in STACKS], number)
    _embedding_dropout(draft)
    draft.same("model.encoder.bidirectional", "the encoder reads in both directions")
    if not draft.value("model.encoder.bidirectional", boolean, True):
        draft.mind("model.encoder.bidirectional", "openwork's encoder reads in both directions always")
    attention = draft.value("model.decoder.attention", text, "bahdanau")
    if attention in ATTENTIONS:
        draft.set("model.attention", ATTENTIONS[attention], "model.decoder.attention")
    else:
        draft.missing("model.decoder.attention", "openwork's attention is additive, dot or general")
    for name in ("hidden_dropout", "input_feeding", "init_hidden"):
        draft.missing(f"model.decoder.{name}", "openwork's recurrent model is built in one way (openwork info)")


def _learning(draft: Draft) -> None:
    schedule = draft.value("training.scheduling", text, "none")
    warm = "training.learning_rate_warmup"
    if schedule == "noam":
        draft.set("training.schedule", "paper", "training.scheduling")
        draft.set(
            "training.schedule_scale",
            draft.value("training.learning_rate_factor", number),
            "training.learning_rate_factor",
        )
        draft.set("training.warmup", draft.value(warm, integer), warm)
        draft.same("training.learning_rate", "the schedule of the paper has no rate to be given, there and here")
    elif schedule == "warmupinversesquareroot":
        draft.set("training.schedule", "inverse-square-root", "training.scheduling")
        peak = draft.given("training.learning_rate_peak") or "training.learning_rate"
        draft.set("training.learning_rate", draft.value(peak, number), peak)
        draft.set("training.warmup", draft.value(warm, integer), warm)
    else:
        note = "" if schedule == "none" else f"openwork has no schedule {schedule!r}; cosine or linear fall as well"
        draft.set("training.schedule", "constant", "training.scheduling", note=note)
        draft.set("training.learning_rate", draft.value("training.learning_rate", number), "training.learning_rate")
        draft.set("training.warmup", 1, warm)
    draft.missing("training.learning_rate_min", "openwork ends at training.steps or by patience, not at a lowest rate")
    for name in ("patience", "decrease_factor"):
        draft.missing(
            f"training.{name}", "about lowering the rate at a plateau; training.patience here ends the training"
        )


def _optimiser(draft: Draft) -> None:
    name = draft.value("training.optimizer", text, "adam").lower()
    decay = draft.value("training.weight_decay", number, 0.0)
    known = {"adam": "adam", "adamw": "adamw", "sgd": "sgd", "adagrad": "adagrad"}
    if name == "adamw" and not decay:
        known["adamw"] = "adam"  # the same without decay
    optimiser(draft, "training.optimizer", name, known)
    weight_decay(draft, "training.weight_decay", decay, name)
    betas = draft.value("training.adam_betas", numbers, [])
    for key, value in zip(("beta1", "beta2"), betas, strict=False):
        draft.set(f"training.{key}", value, "training.adam_betas")


def _smoothing(draft: Draft) -> None:
    smoothing = draft.value("training.label_smoothing", number)
    note = (
        "spread there over all but the right token and the padding, here over all but the right token"
        if smoothing
        else ""
    )
    draft.set("training.label_smoothing", smoothing, "training.label_smoothing", note=note)
    if smoothing:
        draft.set("training.smoothing_form", "others", "training.label_smoothing")


def _batches(draft: Draft) -> None:
    size = draft.value("training.batch_size", integer)
    if draft.value("training.batch_type", text, "sentence") == "token":
        draft.set("batches.tokens", size, "training.batch_size", "training.batch_type")
    elif size:
        note = f"sentences there, tokens here: the value is that of {TOKENS_A_SENTENCE} tokens a sentence"
        draft.set("batches.tokens", size * TOKENS_A_SENTENCE, "training.batch_size", "training.batch_type", note=note)
    draft.mind("training.batch_size", "with several devices each has its share there; openwork trains on one")


def _stopping(draft: Draft) -> None:
    steps(draft, "training.updates", "training.epochs", "JoeyNMT counts epochs where it is given no updates")
    checkpoints_of_best(
        draft, draft.value("training.early_stopping_metric", text, "ppl").lower(), "training.early_stopping_metric"
    )
    besides(draft, patience=False)
    value = draft.value("training.clip_grad_norm", number)
    draft.set("training.clip_norm", value if value is not None else 0.0, "training.clip_grad_norm")
    draft.missing(
        "training.clip_grad_val", "openwork limits the norm of the gradient (training.clip_norm), not its entries"
    )
    half_precision(draft, "fp16")


def _search(draft: Draft) -> None:
    alpha = draft.first(number, "testing.beam_alpha", "testing.alpha", otherwise=-1.0)
    draft.set("decoding.length_penalty", max(alpha, 0.0), "testing.beam_alpha", "testing.alpha")
    longest = draft.value("testing.max_output_length", integer, -1)
    if longest > 0:
        draft.set("decoding.maximum_length", longest, "testing.max_output_length")
    else:
        draft.mind("testing.max_output_length", "1.5 x the source there; openwork: source + decoding.extra_length")
    smallest = draft.value("testing.no_repeat_ngram_size", integer, -1)
    draft.set("decoding.no_repeat", max(smallest, 0), "testing.no_repeat_ngram_size")
    penalty = draft.value("testing.repetition_penalty", number, -1)
    draft.set("decoding.repetition_penalty", max(penalty, 1.0), "testing.repetition_penalty")


def _on_both_sides(*names: str) -> str:
    return " ".join(f"{side}.{name}" for side in SIDES for name in names)


TABLE: dict[str, OptionRule] = table(
    {
        "random_seed": To("training.seed", integer),
        "training.random_seed": To("training.seed", integer),
        "training.batch_multiplier": To("training.accumulate", integer),
        "training.validation_freq": To("training.validate_every", integer),
        "training.logging_freq": To("training.log_every", integer),
        "training.loss": Always(["crossentropy"], "openwork's only loss", "openwork's loss is cross-entropy"),
        "training.shuffle": Always([True], "openwork shuffles always", "openwork shuffles always"),
        "training.normalization": Always(
            ["tokens"], "the loss is a mean over tokens", "openwork's loss is a mean over tokens, not over sentences"
        ),
        "testing.beam_size": To("decoding.beam", integer),
        "testing.n_best": To("decoding.best", integer),
        "testing.generate_unk": Always([False], "unknown pieces never come", "openwork never writes an unknown piece"),
        "testing.min_output_length": To("decoding.minimum_length", integer),
        "testing.eval_metrics": Always(
            [["bleu"], ["chrf"], "bleu"], "openwork evaluate gives both", "see openwork evaluate"
        ),
    },
    {
        OUTSIDE: "name model_dir training.model_dir training.overwrite",
        TESTS: "data.test",
        "the version of JoeyNMT": "joeynmt_version",
        "openwork takes a GPU where there is one": "use_cuda training.use_cuda num_workers training.num_workers",
        "openwork's vocabularies have symbols of their own": " ".join(
            f"data.special_symbols.{symbol}_{what}"
            for symbol in ("unk", "pad", "bos", "eos", "sep")
            for what in ("id", "token")
        ),
        "openwork learns the vocabulary when training begins, and keeps it in the bundle": _on_both_sides(
            "voc_file",
            "tokenizer_cfg.codes",
            "tokenizer_cfg.model_file",
            "tokenizer_cfg.nbest_size",
            "tokenizer_cfg.character_coverage",
            "tokenizer_cfg.separator",
        ),
        "openwork cuts plain text without tokenising it first": _on_both_sides("tokenizer_cfg.pretokenizer"),
        "openwork uses the whole corpus (data.count takes its first pairs)": (
            "data.sample_train_subset data.random_train_subset data.sample_dev_subset data.random_dev_subset"
        ),
        "a reader of data sets; openwork reads files": "data.dataset_cfg.name",
        "openwork keeps the checkpoints that training.average needs": (
            "training.keep_best_ckpts training.keep_last_ckpts"
        ),
        FOREIGN_WEIGHTS: (
            "training.load_model training.load_encoder training.load_decoder testing.load_model "
            "model.encoder.embeddings.load_pretrained model.decoder.embeddings.load_pretrained"
        ),
        "about training on from other weights": (
            "training.reset_best_ckpt training.reset_scheduler training.reset_optimizer training.reset_iter_state"
        ),
        "openwork shows validation sentences in the run's report": "training.print_valid_sents",
        "openwork batches translations itself": "testing.batch_size testing.batch_type",
        "openwork translate --json tells scores": "testing.return_prob testing.return_attention",
        "openwork evaluate chooses sacreBLEU's tokenizer by the target language": (
            "testing.sacrebleu_cfg.tokenize testing.sacrebleu_cfg.whitespace testing.sacrebleu_cfg.lowercase"
        ),
        "openwork has its own first weights (Glorot uniform; embeddings normal)": (
            "model.initializer model.init_gain model.init_weight model.bias_initializer model.embed_initializer "
            "model.embed_init_gain model.embed_init_weight model.init_rnn_orthogonal model.lstm_forget_gate"
        ),
    },
)

JOEYNMT = Toolkit(
    name="joeynmt",
    title="JoeyNMT",
    signs="YAML with data.src, training.learning_rate, model.encoder and testing.beam_size",
    programs={"joeynmt": ""},
    table=TABLE,
    groups=(_data, _text, _model, _learning, _optimiser, _smoothing, _batches, _stopping, _search),
    defaults={
        "random_seed": 42,
        "training.learning_rate": 0.005,
        "training.learning_rate_warmup": 4000,
        "training.adam_betas": [0.9, 0.999],
        "training.adam_eps": 1e-8,
        "training.label_smoothing": 0.0,
        "training.validation_freq": 1000,
        "training.logging_freq": 100,
        "training.early_stopping_metric": "ppl",
        "model.encoder.layer_norm": "pre",
        "model.decoder.layer_norm": "pre",
        "model.encoder.dropout": 0.0,
        "model.decoder.dropout": 0.0,
        "testing.beam_size": 1,
        "testing.beam_alpha": -1,
    },
    canonical=str,
    positional="config",
    config="config",
)
