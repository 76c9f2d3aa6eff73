"""Named sizes. Data only: each is a table of settings that differ from the defaults."""

from openwork.models.table3 import ROWS

# Sizes for two cores, and the family before. "tiny" is the shape that Wu et al. 2021 found best for the 29,000 pairs
# of Multi30k.
SMALL: dict[str, dict[str, object]] = {
    "nano": {
        "kind": "transformer", "width": 128, "feedforward_width": 256, "heads": 4,
        "encoder_layers": 2, "decoder_layers": 2, "norm": "pre",
    },
    "tiny": {
        "kind": "transformer", "width": 128, "feedforward_width": 256, "heads": 4,
        "encoder_layers": 4, "decoder_layers": 4, "norm": "pre", "dropout": 0.3,
    },
    "small": {
        "kind": "transformer", "width": 256, "feedforward_width": 1024, "heads": 4,
        "encoder_layers": 3, "decoder_layers": 3, "norm": "pre", "dropout": 0.2,
    },
    # Language models for two cores: what GPT-2 and what LLaMA are made of.
    "gpt-small": {
        "kind": "decoder", "width": 256, "feedforward_width": 1024, "heads": 4, "layers": 4, "norm": "pre",
        "positions": "learned", "maximum_length": 512, "feedforward": "gelu-tanh", "attention_bias": True,
        "embedding_scale": False, "norm_epsilon": 1e-5, "dropout": 0.1,
    },
    "llama-small": {
        "kind": "decoder", "width": 256, "feedforward_width": 688, "heads": 4, "layers": 4, "norm": "pre",
        "positions": "rotary", "feedforward": "swiglu", "normalisation": "rms", "norm_epsilon": 1e-5, "dropout": 0.1,
    },
    # Recurrence with additive attention (Bahdanau et al. 2015).
    "recurrent-small": {"kind": "recurrent", "width": 256},
    # The same with each cell; without attention (Sutskever et al. 2014); with it after the cells (Luong et al. 2015).
    "rnn-small": {"kind": "recurrent", "cell": "rnn", "width": 256},
    "lstm-small": {"kind": "recurrent", "cell": "lstm", "width": 256},
    "gru-small": {"kind": "recurrent", "cell": "gru", "width": 256},
    "plain-small": {"kind": "recurrent", "attention": "none", "width": 256},
    "luong-small": {"kind": "recurrent", "attention": "general", "width": 256},
    # Labels of words, and of texts.
    "rnn-tagger": {"kind": "recurrent-labels", "task": "tag", "cell": "rnn", "bidirectional": False, "width": 128},
    "lstm-tagger": {"kind": "recurrent-labels", "task": "tag", "width": 128},
    "lstm-classifier": {"kind": "recurrent-labels", "task": "classify", "width": 128},
    "gru-classifier": {"kind": "recurrent-labels", "task": "classify", "cell": "gru", "width": 128},
    # Language models with a classifier on top of their layers (Peters et al. 2018; Howard and Ruder 2018).
    "elmo-small": {"kind": "recurrent-lm", "width": 192},
    "ulmfit-small": {"kind": "recurrent-lm", "bidirectional": False, "features": "last", "width": 256},
    # Convolutions: gated with attention in every decoder layer (Gehring et al. 2017), and dilated (Kalchbrenner et al.
    # 2016). About as many weights as "small".
    "convs2s-small": {
        "kind": "convs2s", "width": 256, "encoder_layers": 6, "decoder_layers": 5, "tying": "three-way", "dropout": 0.2,
    },
    "bytenet-small": {
        "kind": "bytenet", "width": 384, "encoder_layers": 10, "decoder_layers": 10, "tying": "three-way",
        "dropout": 0.2,
    },
    # Convolutions as a language model (van den Oord et al. 2016), which sees 256 tokens.
    "wavenet-small": {
        "kind": "wavenet", "width": 256, "skip_width": 256, "layers": 14, "cycle": 7, "tying": "three-way",
    },
}  # fmt: skip
# BERT's layers (Devlin et al. 2019, section 3, and their published code), in their base size and in one for two cores.
_BERT: dict[str, object] = {
    "kind": "encoder", "segments": 2, "positions": "learned", "feedforward": "gelu", "attention_bias": True,
    "embedding_norm": True, "embedding_scale": False, "norm_epsilon": 1e-12, "attention_dropout": 0.1,
}  # fmt: skip
BERT: dict[str, dict[str, object]] = {
    "bert-base": {
        **_BERT, "width": 768, "feedforward_width": 3072, "heads": 12, "layers": 12, "maximum_length": 512,
    },
    "bert-small": {
        **_BERT, "width": 256, "feedforward_width": 1024, "heads": 4, "layers": 4, "maximum_length": 512,
    },
}  # fmt: skip
# The rows of the paper's table 3; "paper-base" and "paper-big" are two of them.
PAPER: dict[str, dict[str, object]] = {}
for row in ROWS:
    PAPER.setdefault(row.preset, {"kind": "transformer", **row.changes})
PRESETS: dict[str, dict[str, object]] = {
    **{name: values for name, values in PAPER.items() if name.startswith("paper-")},
    **SMALL,
    **BERT,
    **{name: values for name, values in PAPER.items() if not name.startswith("paper-")},
}
