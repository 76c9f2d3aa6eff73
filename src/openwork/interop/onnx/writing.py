"""Exports translators as graphs of ONNX, which need neither openwork nor torch.

model.onnx                           from ids to ids: the encoder, the decoder, and the search around it
model.onnx.data                      the weights, where they do not fit into the file of the graph
config.json                          the ids of the symbols, the search, and the longest source
tokenizer.json, tokenizer_config.json   for the libraries `tokenizers` and `transformers`, in source/ and target/
                                     where there are two; of another toolkit's tokenizer, openwork's own file
card.md                              the bundle's card
openwork-export.json                 that openwork wrote the folder, and may replace its files
"""

import json
from pathlib import Path
from typing import Any

from openwork.base.errors import BundleError, ConfigError, UsageError
from openwork.base.folders import atomic_folder
from openwork.base.outputs import EXPORT, put_export_mark
from openwork.base.printing import escaped
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.bundles.folder import CARD
from openwork.decoding.search import GREEDY
from openwork.decoding.settings import DecodingSettings
from openwork.interop.exports import hugging_face_keeps, onnx_reason
from openwork.interop.hugging_face.tokenizers import write_tokenizers
from openwork.models.seq2seq import Transformer

MODEL, WEIGHTS, CONFIG = "model.onnx", "model.onnx.data", "config.json"
LARGEST = 1 << 30  # bytes of weights in the file of the graph, which has at most 2 GiB
LONGEST = 1024  # tokens of a source, at least: as many positions as a target may have

# The settings of a search that a graph holds, and those that change nothing without others. All others are refused.
HELD = {
    *("beam", "length_penalty", "length_rule", "extra_length", "maximum_length", "best", "patience", "stopping"),
    "unfinished",
}
IDLE = {"diversity", "temperature", "top_k", "top_p", "seed"}


def write_onnx(folder: Path, bundle: Bundle) -> None:
    """Writes the folder; it appears complete or not at all.

    BundleError for a model and ConfigError for a search that no graph is made of, UsageError without the extra.
    """
    model, settings = bundle.model, bundle.settings
    if (reason := onnx_reason(settings.model, (bundle.tokenizers.encoder,))) or not isinstance(model, Transformer):
        raise BundleError(
            "no graph of this model can be made",
            why=reason,
            hint="train a model without that, or use this bundle with openwork translate",
            code="B082",
        )
    search = graph_search(settings.decoding, model.maximum_length)
    positions = model.maximum_length or max(LONGEST, search.maximum_length)
    graph = _graph(model, search, positions)
    with atomic_folder(folder, EXPORT.own_in(folder)) as partial:
        import onnx_ir

        size = sum(one.const_value.nbytes for one in graph.graph.initializers.values())
        onnx_ir.save(graph, partial / MODEL, external_data=WEIGHTS if size > LARGEST else None)
        content = {
            "symbols": {name: getattr(SYMBOL_IDS, name) for name in ("pad", "unknown", "start", "end")},
            "maximum_source_length": positions,
            "decoding": search.model_dump(include=HELD),
        }
        (partial / CONFIG).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        if all(map(hugging_face_keeps, (bundle.tokenizers.encoder, bundle.tokenizers.target))):
            write_tokenizers(partial, bundle.tokenizers)
        else:
            bundle.tokenizers.save(partial)
        (partial / CARD).write_text(escaped(bundle.card), encoding="utf-8")
        put_export_mark(partial)


def graph_search(settings: DecodingSettings, longest: int | None) -> DecodingSettings:
    """The settings as a graph's search has them; ConfigError for one that it has not.

    `longest`: the most tokens for which the model has positions; None: any number.
    """
    default = DecodingSettings()
    for key in DecodingSettings.model_fields.keys() - HELD - IDLE:
        if getattr(settings, key) != getattr(default, key):
            raise ConfigError(
                f"the search in a graph has no decoding.{key}",
                why=f"the bundle has decoding.{key} = {getattr(settings, key)!r}",
                hint="export a bundle without it, and search with openwork where you need it",
                code="C166",
            )
    changes: dict[str, object] = dict(GREEDY) if settings.beam == 1 else {}
    if longest is not None:
        changes["maximum_length"] = min(settings.maximum_length, longest)
    return settings.model_copy(update=changes)


def _graph(model: Transformer, settings: DecodingSettings, positions: int) -> Any:
    try:
        import onnx_ir  # noqa: F401
        import onnxscript  # noqa: F401  # torch's exporter needs it
    except ImportError as error:
        raise UsageError(
            "ONNX needs the packages onnx and onnxscript, which are not installed",
            hint="pip install onnx onnxscript (the extra export)",
            code="U179",
        ) from error
    from openwork.interop.onnx.graph import search_graph

    return search_graph(model, settings, positions)
