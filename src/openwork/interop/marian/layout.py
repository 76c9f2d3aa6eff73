"""Names of a Transformer's weights in Marian's files, for reading and for writing.

Its matrices have the input first. The norm of a sub-layer is named after its last matrix, with `_pre` where it stands
before the sub-layer. Positions are not in the file, since Marian computes them, nor is what the decoder starts with:
zeros.
"""

from collections.abc import Iterator

from openwork.interop.hugging_face.folder import WeightPlace
from openwork.models.settings import TransformerSettings

PARTS = {"q": "query", "k": "key", "v": "value", "o": "output"}
# Of each stack: Marian's name of an attention, openwork's, and that of the connection around it.
ATTENTIONS = {
    "encoder": (("self", "self_attention", "attention_wiring"),),
    "decoder": (("self", "self_attention", "self_wiring"), ("context", "cross_attention", "cross_wiring")),
}
OUTPUT = "decoder_ff_logit_out"
SOURCE_TABLES = ("encoder_Wemb", "Wemb")


def places(settings: TransformerSettings, *, input_first: bool = False) -> Iterator[WeightPlace]:
    """Every weight of a model with these settings; `input_first`: whether an output matrix of its own is (width,
    pieces), as in files of older versions."""
    yield from _tables(settings, input_first)
    ending = "_pre" if settings.norm == "pre" else ""
    for stack, layers in (("encoder", settings.encoder_layers), ("decoder", settings.decoder_layers)):
        side = "source" if stack == "encoder" else "target"
        if settings.embedding_norm:
            yield from _norm(f"{side}_positions.norm", f"{stack}_emb", "")
        for number in range(layers):
            own, theirs = f"{stack}.layers.{number}", f"{stack}_l{number + 1}"
            for name, attention, wiring in ATTENTIONS[stack]:
                for letter, part in PARTS.items():
                    yield from _linear(f"{own}.{attention}.{part}", f"{theirs}_{name}_{{}}{letter}")
                yield from _norm(f"{own}.{wiring}.norm", f"{theirs}_{name}_Wo", ending)
            for digit, part in (("1", "expand"), ("2", "contract")):
                yield from _linear(f"{own}.feedforward.{part}", f"{theirs}_ffn_{{}}{digit}")
            yield from _norm(f"{own}.feedforward_wiring.norm", f"{theirs}_ffn_ffn", ending)
        if settings.norm == "pre":
            yield from _norm(f"{stack}.final_norm", f"{stack}_top", "")


def _tables(settings: TransformerSettings, input_first: bool) -> Iterator[WeightPlace]:
    source, target, output = SOURCE_TABLES, ("decoder_Wemb", "Wemb"), (f"{OUTPUT}_Wt", f"{OUTPUT}_W")
    if settings.tying == "three-way":
        source = target = output = ("Wemb",)
    elif settings.tying == "target":
        output = target
    yield WeightPlace("source_embedding.table.weight", source, pieces="source")
    yield WeightPlace("target_embedding.table.weight", target, pieces="target")
    yield WeightPlace("output", output, pieces="target", transposed=input_first and settings.tying == "none")
    if settings.output_bias:
        yield WeightPlace("bias", (f"{OUTPUT}_b",), pieces="target")


def _linear(own: str, theirs: str) -> Iterator[WeightPlace]:
    yield WeightPlace(f"{own}.weight", (theirs.format("W"),), transposed=True)
    yield WeightPlace(f"{own}.bias", (theirs.format("b"),))


def _norm(own: str, theirs: str, ending: str) -> Iterator[WeightPlace]:
    yield WeightPlace(f"{own}.weight", (f"{theirs}_ln_scale{ending}",))
    yield WeightPlace(f"{own}.bias", (f"{theirs}_ln_bias{ending}",))
