"""A bundle made smaller: what is taken away, by what measure, and what it costs.

Layers go first, by the loss of some pairs; then heads and rows, by the loss's derivatives; then single weights, by
their size; then pieces, by what the corpus uses. A pruned model is worse until it is trained on.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from openwork import __version__
from openwork.base.errors import UsageError
from openwork.base.outputs import BUNDLE, check_folder
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.folder import WEIGHTS, whole_bundle
from openwork.cost.cost import cost_of
from openwork.data.batching import BatchPlan, BatchSettings, assemble
from openwork.data.pairs import encoded_pairs
from openwork.data.store import write_store
from openwork.inference.golden import make_golden
from openwork.models.build import build_model
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights, restore_weights
from openwork.runs.pruning.importance import unit_importance
from openwork.runs.pruning.layers import with_layers
from openwork.runs.pruning.magnitude import with_largest
from openwork.runs.pruning.units import with_feedforward, with_heads
from openwork.runs.pruning.vocabulary import with_vocabulary
from openwork.runs.synthetic.corpus import Corpus, corpus_of
from openwork.text.pair import TokenizerPair
from openwork.training.batches.batch import TensorBatch, to_tensors
from openwork.training.loss import batch_loss

SAMPLE = 500  # pairs by which layers, heads and rows are judged
TOKENS = 2048  # of a batch of them
LEAST_SHARE = 0.05  # of weights that stay
Report = Callable[[str], None]
Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class PrunedSizes:
    """What the pruned model has; None: what it has now. `vocabulary`: only the pieces that the corpus uses.

    `weights`: the share of each matrix's numbers that are not zero.
    """

    encoder_layers: int | None = None
    decoder_layers: int | None = None
    heads: int | None = None
    feedforward: int | None = None
    vocabulary: bool = False
    weights: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "PrunedSizes":
        """The sizes that are given by name. UsageError for none, and for others."""
        if not given:
            raise UsageError(
                "nothing was named that should go",
                hint="such as --decoder-layers 1, --heads 2 or --vocabulary",
                code="U175",
            )
        counts = [field.name for field in fields(cls) if field.name not in ("vocabulary", "weights")]
        for name, value in given.items():
            is_count = name in counts and isinstance(value, int) and value >= 1 and not isinstance(value, bool)
            is_share = name == "weights" and isinstance(value, float) and LEAST_SHARE <= value < 1
            if not (is_count or is_share or (name == "vocabulary" and isinstance(value, bool))):
                raise UsageError(
                    f"a pruned model cannot have {name}={value!r}",
                    hint=f"use numbers from 1 on for {', '.join(counts)}; {LEAST_SHARE} to 1 for weights; True for "
                    "vocabulary",
                    code="U180",
                )
        return cls(**given)


def judging_pairs(name: str | None, source: Path | None, target: Path | None) -> Corpus:
    """The pairs by which parts are judged: of a corpus by name, or of two files. UsageError without any."""
    if name is None and (source is None or target is None):
        raise UsageError(
            "parts are judged by pairs, and none were named",
            hint="give --source and --target, or --corpus NAME",
            code="U176",
        )
    return corpus_of(name, source, target)


def prune_bundle(
    folder: Path, wanted: PrunedSizes, corpus: Corpus, out: Path, report: Report, *, overwrite: bool = False
) -> None:
    """Writes the bundle in `folder` again, smaller; says what stays and what the loss was before and after.

    UsageError for models that are no Transformer with an encoder and a decoder, and where there is nothing to do.
    """
    check_folder(out, BUNDLE, [folder, *corpus.reads], overwrite=overwrite)
    bundle = load_bundle(folder)
    settings = bundle.settings.model
    if not isinstance(settings, TransformerSettings):
        raise UsageError(
            f"{folder}: only Transformers with an encoder and a decoder are pruned",
            why=f"this is a model of the kind {settings.kind}",
            hint="a small model of another kind is trained from nothing, or by openwork distill",
            code="U174",
        )
    sample = _batches(bundle.tokenizers, corpus)
    weights: Weights = model_weights(bundle.model)
    before = _loss(settings, weights, bundle.tokenizers, sample)
    pruned, weights = _pruned(settings, weights, bundle.tokenizers, sample, wanted, report)
    after = _loss(pruned, weights, bundle.tokenizers, sample)
    tokenizers = bundle.tokenizers
    if wanted.vocabulary:
        tokenizers, weights = with_vocabulary(pruned, weights, tokenizers, corpus.pairs)
        report(f"pieces: {' and '.join(_change(*sizes) for sizes in _sizes(bundle.tokenizers, tokenizers))}")
    card = (
        f"{bundle.card.rstrip()}\n\n## Pruned\nBy openwork {__version__}; not trained since. Loss of {_count(sample)} "
        f"tokens: {before:.4f} before, {after:.4f} after.\n"
    )
    small = Bundle(
        bundle.settings.model_copy(update={"model": pruned}), tokenizers, _made(pruned, weights, tokenizers), card=card
    )
    write_bundle(out, make_golden(replace(small, golden=()), [one.source for one in bundle.golden]))
    costs = [cost_of(one, *pair.sizes) for one, pair in ((settings, bundle.tokenizers), (pruned, tokenizers))]
    report(f"weights: {_change(*(cost.weights for cost in costs))}")
    report(f"operations for a target token: {_change(*(round(cost.forward_flops) for cost in costs))}")
    megabytes = [(whole_bundle(one) / WEIGHTS).stat().st_size / 1e6 for one in (folder, out)]
    report(f"file: {megabytes[0]:.1f} MB -> {megabytes[1]:.1f} MB")
    report(f"loss of {_count(sample):,} tokens: {before:.4f} -> {after:.4f}; openwork train --from-bundle mends it")
    if wanted.weights is not None:
        report("note: with --set fine_tuning.keep_zeros=true the zeros stay")


def _pruned(
    settings: TransformerSettings,
    weights: Weights,
    tokenizers: TokenizerPair,
    sample: Sequence[TensorBatch],
    wanted: PrunedSizes,
    report: Report,
) -> tuple[TransformerSettings, Weights]:
    for stack in ("encoder", "decoder"):
        count = getattr(wanted, f"{stack}_layers")
        if count is not None:
            settings, weights, kept = with_layers(
                settings, weights, stack, count, lambda s, w: _loss(s, w, tokenizers, sample)
            )
            report(f"layers of the {stack} that stay: {', '.join(map(str, kept))}")
    if wanted.heads is not None or wanted.feedforward is not None:
        importance = unit_importance(_made(settings, weights, tokenizers), sample)
        if wanted.heads is not None:
            settings, weights = with_heads(settings, weights, importance, wanted.heads)
        if wanted.feedforward is not None:
            settings, weights = with_feedforward(settings, weights, importance, wanted.feedforward)
    if wanted.weights is not None:
        weights = with_largest(weights, wanted.weights)
    return settings, weights


def _batches(tokenizers: TokenizerPair, corpus: Corpus) -> list[TensorBatch]:
    pairs = islice((pair for pair in corpus.pairs() if pair.target.strip()), SAMPLE)
    with tempfile.TemporaryDirectory() as place:
        encoded = encoded_pairs(pairs, tokenizers)
        store = write_store(Path(place) / "store", encoded, vocabulary_size=max(tokenizers.sizes))
        plan = BatchPlan.of(store, BatchSettings(tokens=TOKENS), seed=0).epoch(0)
        found = [to_tensors(assemble(store, plan[number]), torch.device("cpu")) for number in range(len(plan))]
    return found


def _made(settings: TransformerSettings, weights: Weights, tokenizers: TokenizerPair) -> SequenceModel:
    model = build_model(settings, *tokenizers.sizes)
    restore_weights(model, weights, "the pruned model")
    return model.eval()


@torch.no_grad()
def _loss(
    settings: TransformerSettings, weights: Weights, tokenizers: TokenizerPair, sample: Sequence[TensorBatch]
) -> float:
    """Nats a token."""
    model = _made(settings, weights, tokenizers)
    return sum(float(batch_loss(model, batch, 0.0, "float32").likelihood) for batch in sample) / _count(sample)


def _count(sample: Sequence[TensorBatch]) -> int:
    return int(np.sum([batch.target_tokens for batch in sample]))


def _sizes(before: TokenizerPair, now: TokenizerPair) -> list[tuple[int, int]]:
    found = list(zip(before.sizes, now.sizes, strict=True))
    return found[:1] if now.shared else found


def _change(before: float, now: float) -> str:
    return f"{before:,} -> {now:,}"
