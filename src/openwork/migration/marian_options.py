"""What Marian's --task names stand for, and which of its options have nothing to do here. Data only."""

from typing import Any

from openwork.migration.meaning import FOREIGN_WEIGHTS, NO_SUCH_PART, OUTSIDE, OWN_PROGRESS, OWN_READING, TESTS


def _task(*, big: bool, before: bool) -> dict[str, Any]:
    """The options of Vaswani et al.'s base or big model, with the norm after or before each sub-layer."""
    return {
        "type": "transformer",
        "enc-depth": 6,
        "dec-depth": 6,
        "dim-emb": 1024 if big else 512,
        "tied-embeddings-all": True,
        "transformer-dim-ffn": 4096 if big else 2048,
        "transformer-heads": 16 if big else 8,
        "transformer-postprocess": "da" if before else "dan",
        "transformer-preprocess": "n" if before else "",
        "transformer-postprocess-top": "n" if before else "",
        "transformer-ffn-activation": "relu",
        "transformer-dropout": 0.1,
        "learn-rate": 0.0002 if big else 0.0003,
        "cost-type": "ce-mean-words",
        "lr-warmup": 8000 if big else 16000,
        "lr-decay-inv-sqrt": 8000 if big else 16000,
        "label-smoothing": 0.1,
        "clip-norm": 0,
        "exponential-smoothing": 1e-4,
        "mini-batch-fit": True,
        "optimizer-params": [0.9, 0.998 if big else 0.98, 1e-09],
        "beam-size": 8,
        "normalize": 1.0,
    }


TASKS = {
    "transformer-base": _task(big=False, before=False),
    "transformer-big": _task(big=True, before=False),
    "transformer-base-prenorm": _task(big=False, before=True),
    "transformer-big-prenorm": _task(big=True, before=True),
}

WITHOUT = {
    OUTSIDE: (
        "model overwrite overwrite-checkpoint log valid-log tempdir valid-translation-output valid-script-path "
        "valid-script-args relative-paths interpolate-env-vars"
    ),
    TESTS: "decode.models decode.input decode.output decode.vocabs decode.relative-paths",
    "openwork keeps the checkpoints that training.average needs": "keep-best",
    OWN_READING: (
        "maxi-batch maxi-batch-sort mini-batch-round-up mini-batch-fit-step mini-batch-warmup mini-batch-words-ref "
        "mini-batch-track-lr shuffle-in-ram no-shuffle sqlite sqlite-drop data-threads no-restore-corpus "
        "valid-mini-batch valid-max-length decode.mini-batch decode.mini-batch-words decode.maxi-batch "
        "decode.maxi-batch-sort decode.max-length decode.max-length-crop logical-epoch"
    ),
    "counted in tokens there; openwork's filters count characters (filters.*)": "max-length",
    "openwork takes the memory that it needs": "workspace decode.workspace gradient-checkpointing",
    "openwork takes a GPU where there is one": (
        "cpu-threads decode.cpu-threads decode.devices no-nccl sharding sync-freq"
    ),
    OWN_PROGRESS: (
        "quiet quiet-translation quiet-validation log-level log-time-zone disp-first disp-label-counts lr-report "
        "authors cite build-info dump-config sigterm word-scores decode.quiet decode.quiet-translation decode.log "
        "decode.log-level decode.word-scores decode.stat-freq"
    ),
    "about float16, which openwork does not have": (
        "cost-scaling precision gradient-norm-average-window dynamic-gradient-scaling check-gradient-nan "
        "fp16-fallback-to-fp32 custom-fallbacks decode.fp16 decode.precision"
    ),
    "openwork stops with a sentence where a loss is not a number": "throw-on-divergence check-nan",
    FOREIGN_WEIGHTS: "pretrained-model no-reload no-optimizer-reload ignore-model-config embedding-vectors",
    "about lowering the rate at a plateau, which openwork does not": (
        "lr-decay-strategy lr-decay-start lr-decay-freq lr-decay-reset-optimizer lr-decay-repeat-warmup "
        "lr-warmup-cycle lr-warmup-at-reload"
    ),
    "openwork stops by training.patience alone": (
        "early-stopping-epsilon early-stopping-on valid-reset-stalled valid-reset-all"
    ),
    "openwork learns the vocabulary from the training text": (
        "sentencepiece-options sentencepiece-max-lines no-spm-encode"
    ),
    "openwork drops sub-layers' outputs and embeddings out, no whole words": "dropout-src dropout-trg",
    NO_SUCH_PART: (
        "guided-alignment guided-alignment-cost guided-alignment-weight transformer-guided-alignment-layer "
        "data-weighting data-weighting-type right-left input-types input-reorder factors-dim-emb factors-combine "
        "factor-weight lemma-dependency lemma-dim-emb transformer-no-projection transformer-no-affine "
        "transformer-depth-scaling transformer-aan-depth transformer-dim-aan transformer-aan-activation "
        "transformer-aan-nogate transformer-rnn-projection transformer-pool transformer-alibi-shift "
        "transformer-alibi-trainable separator-symbol transformer-decoder-ffn-depth unlikelihood-loss "
        "multi-loss-type word-penalty ulr quantize-bits best-deep embedding-fix-src embedding-fix-trg "
        "embedding-normalization normalize-gradient all-caps-every english-title-case-every decode.shortlist "
        "decode.weights decode.alignment decode.output-sampling decode.gemm-type decode.optimize decode.skip-cost "
        "decode.word-penalty decode.allow-unk tsv-fields"
    ),
}
