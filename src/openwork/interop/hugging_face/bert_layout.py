"""Where the weights of our encoder stand in Hugging Face's BERT, whose layers are ours: post-norm, with biases."""

from collections.abc import Iterator

from openwork.interop.hugging_face.layout import WeightPlace
from openwork.models.encoder_lm_settings import EncoderSettings

PREFIX = "bert."  # before the encoder's weights, where there is a head beside it
HEAD = "cls.predictions"  # what restores masked pieces
POOLER = "pooler.dense"
CLASSES = {"classify": "BertForSequenceClassification", "fill": "BertForMaskedLM", "embed": "BertModel"}
CLASSIFIER, CLASSIFIER_BIAS = "classifier.weight", "classifier.bias"
OLD_NORM = {"weight": "gamma", "bias": "beta"}  # in files that were made from their first ones


def bert_places(settings: EncoderSettings) -> Iterator[WeightPlace]:
    """Every weight of a model with these settings."""
    yield _place("source_embedding.table.weight", "embeddings.word_embeddings.weight", pieces=True)
    yield _place("source_positions.added.table.weight", "embeddings.position_embeddings.weight")
    yield from _norm("source_positions.norm", "embeddings.LayerNorm")
    if settings.segments:
        yield _place("segments.weight", "embeddings.token_type_embeddings.weight")
    for number in range(settings.layers):
        yield from _layer(f"encoder.layers.{number}", f"encoder.layer.{number}")
    if settings.task == "fill":
        yield from _dense("transform.dense", f"{HEAD}.transform.dense")
        yield from _norm("transform.norm", f"{HEAD}.transform.LayerNorm")
        yield WeightPlace("bias", (f"{HEAD}.bias", f"{HEAD}.decoder.bias"), pieces="source")
    else:
        yield from _dense("pooler.dense", POOLER)
    if settings.task == "classify":
        yield WeightPlace("output", (CLASSIFIER,), pieces="target")
        yield WeightPlace("bias", (CLASSIFIER_BIAS,), pieces="target")


def _layer(ours: str, theirs: str) -> Iterator[WeightPlace]:
    for part in ("query", "key", "value"):
        yield from _dense(f"{ours}.self_attention.{part}", f"{theirs}.attention.self.{part}")
    yield from _dense(f"{ours}.self_attention.output", f"{theirs}.attention.output.dense")
    yield from _norm(f"{ours}.attention_wiring.norm", f"{theirs}.attention.output.LayerNorm")
    yield from _dense(f"{ours}.feedforward.expand", f"{theirs}.intermediate.dense")
    yield from _dense(f"{ours}.feedforward.contract", f"{theirs}.output.dense")
    yield from _norm(f"{ours}.feedforward_wiring.norm", f"{theirs}.output.LayerNorm")


def _dense(ours: str, theirs: str) -> Iterator[WeightPlace]:
    for part in ("weight", "bias"):
        yield _place(f"{ours}.{part}", f"{theirs}.{part}")


def _norm(ours: str, theirs: str) -> Iterator[WeightPlace]:
    for part, old in OLD_NORM.items():
        yield _place(f"{ours}.{part}", f"{theirs}.{part}", f"{theirs}.{old}")


def _place(ours: str, *theirs: str, pieces: bool = False) -> WeightPlace:
    names = tuple(prefix + name for name in theirs for prefix in ("", PREFIX))
    return WeightPlace(ours, names, pieces="source" if pieces else None)
