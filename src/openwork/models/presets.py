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
        "positions": "learned", "longest": 512, "feedforward": "gelu-tanh", "attention_bias": True,
        "embedding_scale": False, "norm_epsilon": 1e-5, "dropout": 0.1,
    },
    "llama-small": {
        "kind": "decoder", "width": 256, "feedforward_width": 688, "heads": 4, "layers": 4, "norm": "pre",
        "positions": "rotary", "feedforward": "swiglu", "normalisation": "rms", "norm_epsilon": 1e-5, "dropout": 0.1,
    },
    # Recurrence with additive attention (Bahdanau et al. 2015).
    "recurrent-small": {"kind": "recurrent", "width": 256},
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
# The rows of the paper's table 3; "paper-base" and "paper-big" are two of them.
PAPER: dict[str, dict[str, object]] = {}
for row in ROWS:
    PAPER.setdefault(row.preset, {"kind": "transformer", **row.changes})
PRESETS: dict[str, dict[str, object]] = {
    **{name: values for name, values in PAPER.items() if name.startswith("paper-")},
    **SMALL,
    **{name: values for name, values in PAPER.items() if not name.startswith("paper-")},
}
