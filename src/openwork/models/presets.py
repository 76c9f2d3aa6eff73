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
    # Recurrence with additive attention (Bahdanau et al. 2015).
    "recurrent-small": {"kind": "recurrent", "width": 256},
}  # fmt: skip
# BERT's layers (Devlin et al. 2019, section 3, and their published code), in their base size and in one for two cores.
_BERT: dict[str, object] = {
    "kind": "encoder", "segments": 2, "positions": "learned", "feedforward": "gelu", "attention_bias": True,
    "embedding_norm": True, "embedding_scale": False, "norm_epsilon": 1e-12, "attention_dropout": 0.1,
}  # fmt: skip
BERT: dict[str, dict[str, object]] = {
    "bert-base": {
        **_BERT, "width": 768, "feedforward_width": 3072, "heads": 12, "layers": 12, "longest": 512,
    },
    "bert-small": {
        **_BERT, "width": 256, "feedforward_width": 1024, "heads": 4, "layers": 4, "longest": 512,
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
