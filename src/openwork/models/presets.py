"""Named sizes. Data only: each is a table of settings that differ from the defaults."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """One row; `name` is the letter of its group, with its place in a group of several.

    `changes` are settings of the model, `training` those of the section `[training]` that differ from the base's.
    `millions` (weights), `perplexity` (per piece) and `bleu` are the paper's, on newstest2013 from English to German;
    None where it leaves the cell blank, which means the base's.
    """

    preset: str
    name: str
    perplexity: float
    bleu: float
    millions: int | None = None
    changes: dict[str, object] = field(default_factory=dict)
    training: dict[str, object] = field(default_factory=dict)


BASE, BIG = "paper-base", "paper-big"
VOCABULARY = 37_000  # section 5.1: about so many pieces, shared
BIG_CHANGES: dict[str, object] = {"width": 1024, "feedforward_width": 4096, "heads": 16, "dropout": 0.3}

# width / heads gives the paper's d_k and d_v but where a row names them.
ROWS = (
    Row(BASE, "base", 4.92, 25.8, 65),
    Row("table3-a-h1", "A1", 5.29, 24.9, changes={"heads": 1}),
    Row("table3-a-h4", "A2", 5.00, 25.5, changes={"heads": 4}),
    Row("table3-a-h16", "A3", 4.91, 25.8, changes={"heads": 16}),
    Row("table3-a-h32", "A4", 5.01, 25.4, changes={"heads": 32}),
    Row("table3-b-k16", "B1", 5.16, 25.1, 58, {"head_width": 16}),
    Row("table3-b-k32", "B2", 5.01, 25.4, 60, {"head_width": 32}),
    Row("table3-c-n2", "C1", 6.11, 23.7, 36, {"encoder_layers": 2, "decoder_layers": 2}),
    Row("table3-c-n4", "C2", 5.19, 25.3, 50, {"encoder_layers": 4, "decoder_layers": 4}),
    Row("table3-c-n8", "C3", 4.88, 25.5, 80, {"encoder_layers": 8, "decoder_layers": 8}),
    Row("table3-c-d256", "C4", 5.75, 24.5, 28, {"width": 256, "head_width": 32, "value_width": 32}),
    Row("table3-c-d1024", "C5", 4.66, 26.0, 168, {"width": 1024, "head_width": 128, "value_width": 128}),
    Row("table3-c-ff1024", "C6", 5.12, 25.4, 53, {"feedforward_width": 1024}),
    Row("table3-c-ff4096", "C7", 4.75, 26.2, 90, {"feedforward_width": 4096}),
    Row("table3-d-dropout0", "D1", 5.77, 24.6, changes={"dropout": 0.0}),
    Row("table3-d-dropout2", "D2", 4.95, 25.5, changes={"dropout": 0.2}),
    Row(BASE, "D3", 4.67, 25.3, training={"label_smoothing": 0.0}),
    Row(BASE, "D4", 5.47, 25.7, training={"label_smoothing": 0.2}),
    Row("table3-e-learned", "E", 4.92, 25.7, changes={"positions": "learned"}),
    Row(BIG, "big", 4.33, 26.4, 213, BIG_CHANGES),
)


@dataclass(frozen=True)
class Training:
    """What table 2 and section 5 state of a training from English to German: updates, tokens, hours, operations."""

    steps: int
    hours: float
    flops: float
    tokens: int = 25_000  # a batch has so many on each side
    devices: int = 8
    flops_per_second: float = 9.5e12  # sustained by one P100, as the paper has it


TRAININGS = {BASE: Training(100_000, 12.0, 3.3e18), BIG: Training(300_000, 84.0, 2.3e19)}


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
# The Vision Transformer (Dosovitskiy et al. 2021, table 1, and their published code), and one for two cores. The number
# of positions follows from the pictures' size in a run file; 197 are those of 224 x 224 pixels.
_VIT: dict[str, object] = {
    "kind": "vit", "norm": "pre", "positions": "learned", "feedforward": "gelu", "attention_bias": True,
    "embedding_scale": False,
}  # fmt: skip
VIT: dict[str, dict[str, object]] = {
    "vit-base": {**_VIT, "width": 768, "feedforward_width": 3072, "heads": 12, "layers": 12, "maximum_length": 197},
    "vit-small": {**_VIT, "width": 128, "feedforward_width": 256, "heads": 4, "layers": 4},
}  # fmt: skip
# A convolutional network with about as many weights as vit-small has for small patches (0.53 million).
CNN: dict[str, dict[str, object]] = {"cnn-small": {"kind": "cnn", "width": 76}}
# A model that writes the text of a picture, for two cores.
CAPTIONER: dict[str, dict[str, object]] = {
    "captioner-small": {
        "kind": "captioner", "norm": "pre", "feedforward": "gelu", "attention_bias": True, "embedding_scale": False,
        "width": 128, "feedforward_width": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 2,
    },
}  # fmt: skip
# Whisper (Radford et al. 2023, table 1, and their published code) in its smallest size, and one for two cores.
_WHISPER: dict[str, object] = {
    "kind": "whisper", "norm": "pre", "positions": "learned", "maximum_length": 448, "feedforward": "gelu",
    "attention_bias": True, "embedding_scale": False, "norm_epsilon": 1e-5,
}  # fmt: skip
WHISPER: dict[str, dict[str, object]] = {
    "whisper-tiny": {**_WHISPER, "width": 384, "feedforward_width": 1536, "heads": 6, "dropout": 0.0},
    "whisper-small": {
        **_WHISPER, "width": 128, "feedforward_width": 256, "heads": 4, "encoder_layers": 3, "decoder_layers": 2,
    },
}  # fmt: skip
# T5 and T5 1.1 (Raffel et al. 2020, and their published code) in the smallest sizes of the two.
_T5: dict[str, object] = {
    "kind": "transformer", "width": 512, "head_width": 64, "value_width": 64, "attention": "unscaled", "norm": "pre",
    "normalisation": "rms", "positions": "bucketed", "dropout": 0.1,
}  # fmt: skip
T5: dict[str, dict[str, object]] = {
    "t5-small": {**_T5, "feedforward_width": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6},
    "t5-v1-1-small": {
        **_T5, "feedforward_width": 1024, "heads": 6, "encoder_layers": 8, "decoder_layers": 8,
        "feedforward": "geglu-tanh", "tying": "none", "embedding_scale": False,
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
    **VIT,
    **CNN,
    **CAPTIONER,
    **WHISPER,
    **T5,
    **{name: values for name, values in PAPER.items() if not name.startswith("paper-")},
}
