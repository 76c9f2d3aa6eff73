"""What fairseq's --arch names stand for, and which of its options have nothing to do here. Data only."""

from typing import Any

from openwork.migration.meaning import (
    AT_VALIDATION,
    FOREIGN_WEIGHTS,
    NO_SUCH_PART,
    ONE_DEVICE,
    OUTSIDE,
    OWN_PROGRESS,
    OWN_READING,
    TESTS,
)


def _sizes(width: int, feedforward: int, heads: int, layers: int = 6) -> dict[str, Any]:
    sizes = {"embed-dim": width, "ffn-embed-dim": feedforward, "attention-heads": heads, "layers": layers}
    return {f"{stack}-{name}": value for stack in ("encoder", "decoder") for name, value in sizes.items()}


_BIG = {**_sizes(1024, 4096, 16), "dropout": 0.3}

ARCHITECTURES: dict[str, dict[str, Any]] = {
    "transformer": _sizes(512, 2048, 8),
    "transformer_wmt_en_de": _sizes(512, 2048, 8),
    "transformer_iwslt_de_en": _sizes(512, 1024, 4),
    "transformer_tiny": _sizes(64, 64, 2, 2),
    "transformer_vaswani_wmt_en_de_big": _BIG,
    "transformer_vaswani_wmt_en_fr_big": {**_BIG, "dropout": 0.1},
    "transformer_wmt_en_de_big": {**_BIG, "attention-dropout": 0.1},
    "transformer_wmt_en_de_big_t2t": {
        **_BIG,
        "encoder-normalize-before": True,
        "decoder-normalize-before": True,
        "attention-dropout": 0.1,
        "activation-dropout": 0.1,
    },
}

WITHOUT = {
    OUTSIDE: "save-dir results-path log-file generate.results-path preprocess.destdir",
    TESTS: "generate.path generate.data generate.gen-subset preprocess.testpref train-subset valid-subset",
    "openwork keeps the checkpoints that training.average needs": (
        "keep-last-epochs keep-best-checkpoints keep-interval-updates no-save no-last-checkpoints "
        "no-save-optimizer-state keep-interval-updates-pattern"
    ),
    "give that file to openwork config from, which reads hydra's sections as well": "config-dir config-name",
    AT_VALIDATION: "validate-after-updates disable-validation",
    OWN_READING: (
        "num-workers data-buffer-size dataset-impl required-batch-size-multiple max-tokens-valid batch-size-valid "
        "skip-invalid-size-inputs-valid-test upsample-primary truncate-source curriculum preprocess.workers "
        "preprocess.dataset-impl generate.batch-size generate.max-tokens generate.num-workers "
        "generate.skip-invalid-size-inputs-valid-test generate.dataset-impl"
    ),
    ONE_DEVICE: (
        "ddp-backend distributed-port distributed-init-method distributed-backend distributed-rank local_rank "
        "device-id find-unused-parameters fix-batches-to-gpus bucket-cap-mb model-parallel-size nprocs-per-node "
        "distributed-no-spawn update-ordered-indices-seed zero-sharding"
    ),
    "about float16, which openwork does not have": (
        "fp16-init-scale fp16-scale-window fp16-scale-tolerance min-loss-scale threshold-loss-scale generate.fp16 "
        "amp-init-scale amp-scale-window"
    ),
    OWN_PROGRESS: (
        "no-progress-bar log-format wandb-project generate.quiet report-accuracy generate.no-progress-bar "
        "generate.log-format eval-bleu-print-samples eval-tokenized-bleu"
    ),
    "openwork's pieces join to text by themselves": (
        "eval-bleu-remove-bpe generate.remove-bpe generate.post-process generate.tokenizer generate.bpe "
        "generate.sacrebleu generate.scoring eval-bleu-detok-args generate.moses-source-lang "
        "generate.moses-target-lang"
    ),
    "openwork learns the vocabulary from the training text": (
        "preprocess.srcdict preprocess.tgtdict preprocess.thresholdsrc preprocess.thresholdtgt "
        "preprocess.padding-factor preprocess.bpe preprocess.only-source"
    ),
    FOREIGN_WEIGHTS: (
        "restore-file finetune-from-model reset-optimizer reset-lr-scheduler reset-dataloader reset-meters "
        "encoder-embed-path decoder-embed-path generate.model-overrides optimizer-overrides"
    ),
    "openwork ends at training.steps or by patience": "stop-min-lr stop-time-hours",
    "openwork takes a GPU where there is one": "cpu generate.cpu tpu",
    NO_SUCH_PART: (
        "layernorm-embedding adaptive-input adaptive-softmax-cutoff adaptive-softmax-dropout encoder-layerdrop "
        "decoder-layerdrop cross-self-attention no-cross-attention quant-noise-pq quant-noise-scalar "
        "encoder-layers-to-keep decoder-layers-to-keep checkpoint-activations offload-activations user-dir "
        "decoder-output-dim decoder-input-dim load-alignments alignment-lambda generate.lm-path generate.lm-weight "
        "generate.replace-unk generate.unkpen generate.print-alignment generate.score-reference"
    ),
}

FLAGS = (
    "share-all-embeddings share-decoder-input-output-embed encoder-normalize-before decoder-normalize-before "
    "encoder-learned-pos decoder-learned-pos no-token-positional-embeddings no-scale-embedding layernorm-embedding "
    "fp16 memory-efficient-fp16 bf16 memory-efficient-bf16 amp cpu tpu eval-bleu eval-bleu-print-samples "
    "eval-tokenized-bleu maximize-best-checkpoint-metric sentence-avg no-progress-bar no-epoch-checkpoints no-save "
    "no-last-checkpoints no-save-optimizer-state store-ema reset-optimizer reset-lr-scheduler reset-dataloader "
    "reset-meters disable-validation skip-invalid-size-inputs-valid-test report-accuracy load-alignments "
    "truncate-source adaptive-input cross-self-attention no-cross-attention checkpoint-activations "
    "find-unused-parameters use-old-adam preprocess.joined-dictionary preprocess.only-source generate.unnormalized "
    "generate.sampling generate.sacrebleu generate.quiet generate.cpu generate.fp16 generate.score-reference "
    "generate.no-progress-bar generate.skip-invalid-size-inputs-valid-test generate.match-source-len"
)
