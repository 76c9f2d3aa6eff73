"""Rules between settings: what is refused, where, and the remedy, which is tried out."""

import pytest

from openwork.base.config import Layer, apply_assignments, build
from openwork.base.errors import ConfigError
from openwork.runs.file.settings import RunSettings

# What is set (with data.corpus = copy, unless data is set); words of what is said; what is set besides to be allowed.
RULES: list[tuple[list[str], str, list[str]]] = [
    (["data.file=a.txt", "data.format=csv"], "there is no format 'csv'", ["data.format=tsv"]),
    (["data.source=a.en"], "source and target go together", ["data.target=a.de"]),
    (["data.corpus=copy", "data.tsv=a.tsv"], "the training pairs need one origin", []),
    (["data.held_out=5"], "the training pairs need one origin", []),
    (["data.mix=[{weight = 1.0}]"], "a part of the mix needs one origin", ["data.mix.0.corpus=copy"]),
    (["data.corpus=copy", "data.valid_source=a.en"], "valid_source and valid_target go together",
        ["data.valid_target=a.de"]),
    (["data.corpus=copy", "data.valid_file=a.tmx", "data.valid_tsv=a.tsv"],
        "the pairs to validate with are named in several ways", []),
    (['data.mix=[{corpus = "copy", weight = 1.0}, {corpus = "reverse"}]'],
        "some corpora of the mix have a weight and others none", ["data.mix.1.weight=2.0"]),
    (["decoding.samples=2", "decoding.best=3"], "best = 3 needs at least 3 samples, and samples is 2",
        ["decoding.samples=3"]),
    (["decoding.beam=2", "decoding.best=3"], "best = 3 needs a beam of at least 3, and beam is 2", ["decoding.beam=3"]),
    (["decoding.beam=1", "decoding.minimum_bayes_risk=chrf"], "minimum_bayes_risk chooses among hypotheses",
        ["decoding.samples=2"]),
    (["decoding.beam=4", "decoding.groups=3"], "groups = 3 must divide the beam into equal parts, and beam is 4",
        ["decoding.beam=6"]),
    (["decoding.beam=4", "decoding.groups=2", "decoding.coverage_penalty=0.2"],
        "groups and coverage_penalty do not go together", ["decoding.groups=1"]),
    (["decoding.samples=2", "decoding.coverage_penalty=0.2"], "groups and coverage_penalty belong to beam search",
        ["decoding.samples=0"]),
    (["decoding.top_k=5"], "temperature, top_k and top_p belong to sampling", ["decoding.samples=1"]),
    (["decoding.beam=1", "decoding.coverage_penalty=0.2"], "coverage_penalty ranks the hypotheses of a beam",
        ["decoding.beam=2"]),
    (["model.width=250", "model.heads=8"], "width 250 is not divisible by 8 heads", ["model.width=256"]),
    (["model.heads=8", "model.key_value_heads=3"], "8 heads cannot share 3 heads of keys and values evenly",
        ["model.key_value_heads=2"]),
    (["model.positions=rotary", "model.head_width=7", "model.value_width=8"], "a head's width of 7 is odd",
        ["model.head_width=8"]),
    (["model.attention=linear", "model.positions=rotary"], "and linear attention has none",
        ["model.positions=learned"]),
    (["model.attention=linear", "model.attention_dropout=0.1"], "attention_dropout needs a number for each pair",
        ["model.attention_dropout=0.0"]),
    (["model.attention=additive", "model.positions=rotary"], "act on the dot products of queries and keys",
        ["model.positions=alibi"]),
    (["model.attention_pattern=low-rank"], "has weights for each position of the longest text",
        ["model.positions=learned"]),
    (["model.kind=decoder", "model.attention_pattern=low-rank", "model.positions=learned"],
        "a language model must not see later ones", ["model.attention_pattern=window"]),
    (["model.feedforward_rank=4", "model.feedforward=convolution"], "feedforward_rank is for networks of matrices",
        ["model.feedforward=relu"]),
    (["model.random_blocks=2"], "random_blocks is for the attention patterns blocks",
        ["model.attention_pattern=blocks"]),
    (["model.attention_pattern=window", "model.positions=alibi"], 'positions = "alibi" needs a number for each pair',
        ["model.positions=rotary"]),
    (["model.attention_chunk=64", "model.attention_dropout=0.1"], "attention_dropout needs a number for each pair",
        ["model.attention_dropout=0.0"]),
    (["model.attention_pattern=blocks", "model.attention=relu"], 'attention = "relu" needs a number for each pair',
        ["model.attention=unscaled"]),
    (["model.attention_pattern=blocks", "model.attention_chunk=64"], "are different ways to read long texts",
        ["model.attention_pattern=full"]),
    (["model.normalisation=batch", "training.workers=2"], "batch normalisation takes its statistics from whole ones",
        ["training.workers=1"]),
    (["model.normalisation=batch", "training.compile=on"], "those with batch normalisation are computed as written",
        ["training.compile=auto"]),
    (["model.maximum_length=100"], "maximum_length is for learned positions", ["model.positions=learned"]),
    (["model.relative_distance=8"], "relative_distance is for relative positions", ["model.positions=relative"]),
    (["text.target_file=a.json", "text.source_file=a.json", "text.shared=true"],
        "text.target_file gives the target a vocabulary of its own", ["text.shared=false", "model.tying=target"]),
    (["text.source_file=a.json", "text.sampling=0.1"], "a tokenizer from a file allows no text.sampling",
        ["text.sampling=0.0"]),
    (["text.source_file=a.json", "text.placeholders=3"], "a tokenizer from a file allows no text.placeholders",
        ["text.placeholders=0"]),
    (["text.kind=words", "text.sampling=0.1"], "text.kind 'words' knows one way to cut a text",
        ["text.kind=byte-pair"]),
    (["training.steps=10", "training.cooldown=20"], "cooldown (20) cannot be longer than the run (10 steps)",
        ["training.cooldown=5"]),
    (["training.learning_rate=0.001", "training.lowest_rate=0.01"], "lowest_rate (0.01) is above learning_rate (0.001)",
        ["training.lowest_rate=0.0001"]),
    (["training.optimiser=adam", "training.weight_decay=0.01"], "weight_decay has no effect with the optimiser adam",
        ["training.optimiser=adamw"]),
    (["training.metric=bleu", "training.validation_sentences=0"], "the metric bleu needs translations",
        ["training.metric=loss"]),
    (["fine_tuning.from_bundle=a", "fine_tuning.low_rank=8", "fine_tuning.keep_zeros=true"],
        "keep_zeros and low_rank do not go together", ["fine_tuning.low_rank=0"]),
    (["fine_tuning.from_bundle=a", "fine_tuning.low_rank=8", "fine_tuning.quantise=int4"],
        "quantise and low_rank do not go together", ["fine_tuning.low_rank=0"]),
    (["fine_tuning.new_pieces=10"],
        "new_pieces, frozen, keep_zeros, quantise and low_rank are for a training that begins with a bundle",
        ["fine_tuning.from_bundle=a"]),
    (["text.shared=false", "model.tying=three-way"],
        'and model.tying = "three-way" needs one for both',
        ["model.tying=target"]),
    (["training.layer_decay=2.6"], "layer_decay and unfreeze_every are for groups of layers",
        ['training.layer_groups=["decoder"]']),
    (['training.layer_groups=["decoder", " "]'], "a group of layer_groups is empty",
        ['training.layer_groups=["decoder"]']),
    (["training.steps=10", 'training.layer_groups=["decoder"]', "training.unfreeze_every=10"],
        "begin to learn at update 11, and the run has 10", ["training.unfreeze_every=9"]),
    (["model.kind=recurrent-lm", "training.metric=score"], "is not measured of model.task", ["training.metric=loss"]),
]  # fmt: skip


def settings(*assignments: str) -> RunSettings:
    named = any(one.startswith("data.") for one in assignments)
    layer = apply_assignments(Layer(), [*([] if named else ["data.corpus=copy"]), *assignments])
    mapping = {**layer.mapping, "model": {"kind": "transformer", **layer.mapping.get("model", {})}}
    return build(RunSettings, mapping, layer.origins)


@pytest.mark.parametrize(("assignments", "words", "mended"), RULES, ids=[f"{rule[1]}" for rule in RULES])
def test_a_rule_says_what_to_change(assignments: list[str], words: str, mended: list[str]):
    with pytest.raises(ConfigError) as refused:
        settings(*assignments)
    assert words in refused.value.what and refused.value.hint
    assert refused.value.hint not in refused.value.what
    if mended:
        settings(*assignments, *mended)
