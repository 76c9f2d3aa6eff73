"""Named sizes. Data only: each is a table of settings that differ from the defaults."""

PRESETS: dict[str, dict[str, object]] = {
    # Table 3 of the paper, rows "base" and "big".
    "paper-base": {"kind": "transformer"},
    "paper-big": {"kind": "transformer", "width": 1024, "feedforward_width": 4096, "heads": 16, "dropout": 0.3},
    # Sizes for two cores. "tiny" is the shape that Wu et al. 2021 found best for the 29,000 pairs of Multi30k.
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
    # The family before: recurrence with additive attention (Bahdanau et al. 2015).
    "recurrent-small": {"kind": "recurrent", "width": 256},
}  # fmt: skip
