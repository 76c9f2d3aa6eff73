"""Exports bundles as models of CTranslate2: folders that its Translator loads.

    model.bin                            all weights in float32; CTranslate2 quantises them on request
    config.json                          the symbols, and those around a source
    shared_vocabulary.json               or source_vocabulary.json and target_vocabulary.json
    tokenizer.json                       or source.tokenizer.json and target.tokenizer.json: from text to its tokens
    card.md                              the bundle's card
    openwork-export.json                 that openwork wrote the folder, and may replace its files

The model itself makes the search openwork's: pad, unknown and start have no probability.
"""

import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.folders import atomic_folder
from openwork.base.outputs import EXPORT, put_export_mark
from openwork.base.printing import escaped
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.bundles.folder import CARD
from openwork.interop.ctranslate2 import layout
from openwork.interop.ctranslate2.binary import Contents, write_binary
from openwork.interop.ctranslate2.reading import MODEL, NEVER
from openwork.interop.ctranslate2.settings import MADE_POSITIONS, NEWEST_REVISION
from openwork.interop.ctranslate2.vocabulary import CONFIG, SHARED, SOURCE, TARGET, Conventions
from openwork.interop.exports import ctranslate2_reason
from openwork.interop.vocabulary import token_names
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.nn.positions import LearnedPositions, NormalisedPositions, SinusoidalPositions
from openwork.text.tokenizer import SYMBOLS

SPECIFICATION = "TransformerSpec"
FLAG, SMALL, WHOLE, REAL = np.int8, np.int16, np.int32, np.float32


def write_ctranslate2(folder: Path, bundle: Bundle) -> None:
    """Writes the folder; it appears complete or not at all. BundleError where CTranslate2 has no such model."""
    model, settings = bundle.model, bundle.settings.model
    reason = ctranslate2_reason(settings)
    if reason or not isinstance(model, Transformer) or not isinstance(settings, TransformerSettings):
        raise BundleError(
            "CTranslate2 cannot run this model",
            why=reason,
            hint="train a model without that, or use this bundle with openwork translate",
            code="B015",
        )
    conventions = Conventions(
        unk_token=SYMBOLS.unknown,
        bos_token=SYMBOLS.start,
        eos_token=SYMBOLS.end,
        decoder_start_token=SYMBOLS.start,
        add_source_eos=True,
        layer_norm_epsilon=settings.norm_epsilon,
    )
    variables, aliases = _variables(model, settings)
    tokenizers = bundle.tokenizers
    sides = {SHARED: tokenizers.source} if tokenizers.shared else {SOURCE: tokenizers.source, TARGET: tokenizers.target}
    with atomic_folder(folder, EXPORT.own_in(folder)) as partial:
        write_binary(partial / MODEL, Contents(SPECIFICATION, NEWEST_REVISION, variables, aliases))
        _write_json(partial / CONFIG, {**conventions.model_dump(), "multi_query_attention": False})
        for name, tokenizer in sides.items():
            _write_json(partial / f"{name}.json", token_names(tokenizer))
        tokenizers.save(partial)
        (partial / CARD).write_text(escaped(bundle.card), encoding="utf-8")
        put_export_mark(partial)


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _variables(model: Transformer, settings: TransformerSettings) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays by CTranslate2's names, and the further names of those that are tied."""
    weights = dict(model.named_parameters(remove_duplicate=False))
    variables = {
        name: _numpy(torch.cat([weights[one] for one in own])) for name, own in layout.places(settings).items()
    }
    variables |= _numbers(settings) | _positions(model, settings)
    bias = model.output_weight.new_zeros(len(model.output_weight)) if model.output_bias is None else model.output_bias
    bias = bias.detach().clone()
    bias[list(SYMBOL_IDS.forbidden)] = NEVER  # CTranslate2 forbids no symbol
    variables[layout.OUTPUT_BIAS] = _numpy(bias)
    tables = {
        f"{layout.DECODER}/{layout.EMBEDDINGS}": model.target_embedding.table.weight,
        f"{layout.ENCODER}/{layout.EMBEDDINGS}": model.source_embedding.table.weight,
        layout.OUTPUT: model.output_weight,
    }
    first = next(iter(tables))
    aliases = {name: first for name, table in tables.items() if table is tables[first] and name != first}
    return variables | {name: _numpy(table) for name, table in tables.items() if name not in aliases}, aliases


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().float().numpy()


def _numbers(settings: TransformerSettings) -> dict[str, np.ndarray]:
    """The settings as single numbers of CTranslate2's types."""
    activation, _ = layout.FEEDFORWARDS[settings.feedforward]
    found: dict[str, np.ndarray] = {}
    for side in (layout.ENCODER, layout.DECODER):
        found |= {
            f"{side}/num_heads": np.array(settings.heads, SMALL),
            f"{side}/pre_norm": np.array(settings.norm == "pre", FLAG),
            f"{side}/activation": np.array(activation, FLAG),
            f"{side}/scale_embeddings": np.array(settings.embedding_scale, FLAG),
        }
    for scope in layout.attentions(settings.encoder_layers, settings.decoder_layers):
        if settings.key_width * settings.heads != settings.width:
            found[f"{scope}/head_dim"] = np.array(settings.key_width, WHOLE)
        if settings.key_value_count != settings.heads:
            found[f"{scope}/num_heads_kv"] = np.array(settings.key_value_count, WHOLE)
        if settings.positions == "rotary" and scope.endswith("/self_attention"):
            found |= {
                f"{scope}/rotary_dim": np.array(settings.key_width, WHOLE),
                f"{scope}/rotary_interleave": np.array(True, FLAG),  # pairs of neighbours
            }
    return found


def _positions(model: Transformer, settings: TransformerSettings) -> dict[str, np.ndarray]:
    """The added vectors as a table: without one, CTranslate2 adds sinusoids of another formula."""
    if settings.positions in ("rotary", "relative"):
        return {}
    found = {}
    for side, part in ((layout.ENCODER, model.source_positions), (layout.DECODER, model.target_positions)):
        added = part.added if isinstance(part, NormalisedPositions) else part
        if isinstance(added, SinusoidalPositions | LearnedPositions):
            rows = added.rows(0, added.maximum_length or MADE_POSITIONS)
        else:
            rows = torch.zeros(MADE_POSITIONS, settings.width)
        found[f"{side}/{layout.POSITIONS}"] = _numpy(rows)
    return found
