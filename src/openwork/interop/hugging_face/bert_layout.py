"""Names of an encoder's weights in Hugging Face's BERT, which is openwork's encoder: post-norm, with biases."""

from collections.abc import Iterator

from openwork.interop.hugging_face.layout import WeightPlace
from openwork.models.settings import EncoderSettings

PREFIX = "bert."  # before the encoder's weights, where there is a head beside it
HEAD = "cls.predictions"  # predicts masked pieces
CLASSES = {"classify": "BertForSequenceClassification", "fill": "BertForMaskedLM", "embed": "BertModel"}
CLASSIFIER, CLASSIFIER_BIAS = "classifier.weight", "classifier.bias"
OLD_NORM = {"weight": "gamma", "bias": "beta"}  # names in old files
LAYER = {
    "self_attention.query": "attention.self.query",
    "self_attention.key": "attention.self.key",
    "self_attention.value": "attention.self.value",
    "self_attention.output": "attention.output.dense",
    "attention_wiring.norm": "attention.output.LayerNorm",
    "feedforward.expand": "intermediate.dense",
    "feedforward.contract": "output.dense",
    "feedforward_wiring.norm": "output.LayerNorm",
}


def bert_places(settings: EncoderSettings) -> Iterator[WeightPlace]:
    """Every weight of a model with these settings."""
    yield _place("source_embedding.table.weight", "embeddings.word_embeddings.weight", pieces=True)
    yield _place("source_positions.added.table.weight", "embeddings.position_embeddings.weight")
    yield from _pair("source_positions.norm", "embeddings.LayerNorm")
    if settings.segments:
        yield _place("segments.weight", "embeddings.token_type_embeddings.weight")
    for number in range(settings.layers):
        for openwork_name, hf_name in LAYER.items():
            yield from _pair(f"encoder.layers.{number}.{openwork_name}", f"encoder.layer.{number}.{hf_name}")
    if settings.task == "fill":
        yield from _pair("transform.dense", f"{HEAD}.transform.dense")
        yield from _pair("transform.norm", f"{HEAD}.transform.LayerNorm")
        yield WeightPlace("bias", (f"{HEAD}.bias", f"{HEAD}.decoder.bias"), pieces="source")
    else:
        yield from _pair("pooler.dense", "pooler.dense")
    if settings.task == "classify":
        yield WeightPlace("output", (CLASSIFIER,), pieces="target")
        yield WeightPlace("bias", (CLASSIFIER_BIAS,), pieces="target")


def _pair(openwork_name: str, hf_name: str) -> Iterator[WeightPlace]:
    for part, old in OLD_NORM.items():
        old_names = (f"{hf_name}.{old}",) if hf_name.endswith("LayerNorm") else ()
        yield _place(f"{openwork_name}.{part}", f"{hf_name}.{part}", *old_names)


def _place(openwork_name: str, *hf_names: str, pieces: bool = False) -> WeightPlace:
    names = tuple(prefix + name for name in hf_names for prefix in ("", PREFIX))
    return WeightPlace(openwork_name, names, pieces="source" if pieces else None)
