"""Reads models of CTranslate2 as Transformers that compute the same.

The file holds all that a Transformer needs, in another layout (`layout.py`) and with the rows of the vocabulary in
another order (`vocabulary.py`). Parts that openwork has not are refused, never left out in silence.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from openwork.base.errors import BundleError
from openwork.base.regular_files import check_downloaded
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle
from openwork.bundles.settings import BundleSettings
from openwork.decoding.settings import DecodingSettings
from openwork.interop.ctranslate2.binary import Contents, read_binary
from openwork.interop.ctranslate2.layout import (
    DECODER,
    ENCODER,
    OUTPUT,
    OUTPUT_BIAS,
    POSITIONS,
    StacksSettings,
    attentions,
    places,
)
from openwork.interop.ctranslate2.settings import Weights, embedding_scale, transformer_settings
from openwork.interop.ctranslate2.vocabulary import Conventions, Tokens, read_conventions, read_tokens
from openwork.interop.vocabulary import Vocabulary, token_names
from openwork.models.build import model_with_weights
from openwork.models.interfaces import SequenceModel
from openwork.models.settings import TransformerSettings
from openwork.nn.positions import sinusoids
from openwork.text.pair import TokenizerPair

MODEL = "model.bin"
NEVER = -30000.0  # a logit that leaves no probability in any type of number, and that half precision can write


class CTranslate2Model(NamedTuple):
    """A model that was read, the tokens of both sides, and the symbols around a source.

    It finds the same as CTranslate2 with `length_penalty=A, min_decoding_length=0, max_decoding_length=N` where the
    search has `length_penalty = A, length_rule = "power", unfinished = "ranked", maximum_length = N`, an `extra_length`
    above N, no forbidden symbols, and where A is 0, also `stopping = "no-better"`.
    """

    settings: TransformerSettings
    model: SequenceModel
    source: Tokens
    target: Tokens
    conventions: Conventions


def read_ctranslate2(
    folder: Path, pieces: tuple[Sequence[str], Sequence[str]] | None = None, contents: Contents | None = None
) -> CTranslate2Model:
    """The model in a folder of CTranslate2's; BundleError where it is damaged, or has parts that openwork has not.

    Binary versions 2 to 6; numbers of 8 and 16 bits become float32 with the same values. `pieces`: the names of the
    pieces of source and target by openwork's ids, where there are tokenizers already. `contents`: of model.bin.
    """
    contents = contents or read_binary(folder / MODEL)
    conventions = read_conventions(folder, contents.version, contents.variables)
    weights = Weights(folder, contents)
    settings = transformer_settings(weights, conventions)
    if settings.positions == "learned" and _are_sinusoids(weights, settings):
        settings = settings.model_copy(update={"positions": "sinusoidal", "maximum_length": None})
    source, target = _tokens(weights, conventions, *(pieces or (None, None)))
    sizes = source.vocabulary.size, target.vocabulary.size
    tensors = _tensors(weights, settings, source.vocabulary, target.vocabulary)
    # openwork's model has one name for tied weights: embeddings that are the output matrix are left out
    tying = "none"
    if torch.equal(tensors[TARGET_TABLE], tensors[OUTPUT_MATRIX]):
        del tensors[TARGET_TABLE]
        tying = "target"
        if torch.equal(tensors[SOURCE_TABLE], tensors[OUTPUT_MATRIX]):
            del tensors[SOURCE_TABLE]
            tying = "three-way"
    settings = settings.model_copy(update={"tying": tying})
    for name in weights.unused():
        raise weights.unsupported(name)
    model = model_with_weights(settings, sizes, tensors, weights.size_error, str(folder))
    return CTranslate2Model(settings, model, source, target, conventions)


def _tokens(
    weights: Weights, conventions: Conventions, source: Sequence[str] | None, target: Sequence[str] | None
) -> tuple[Tokens, Tokens]:
    folder = weights.folder
    listed = read_tokens(folder, conventions.unk_token)
    if conventions.decoder_start_token is None:
        raise BundleError(
            f"{folder}: this model has no start symbol of its own",
            why="the first token of each target is for the user to give",
            hint="models of one direction have one",
            code="B007",
        )
    zero = weights.number(f"{DECODER}/start_from_zero_embedding")
    start = None if zero else conventions.decoder_start_token
    wanted = [*conventions.before, *conventions.after], [start, conventions.eos_token]
    for names, side, needed in zip(listed, (ENCODER, DECODER), wanted, strict=True):
        rows = len(weights.embeddings(side))
        if rows != len(names):
            raise weights.mismatch(f"the {side} knows {rows:,} tokens, and its vocabulary has {len(names):,}")
        for name in needed:
            if name is not None and name not in names:
                raise weights.mismatch(f"the vocabulary of the {side} has no token {name!r}")
    shared = listed[0] is listed[1] and source == target
    return (
        Tokens.of(listed[0], _symbols(conventions, start if shared else conventions.bos_token, source), source),
        Tokens.of(listed[1], _symbols(conventions, start, target), target),
    )


def _symbols(conventions: Conventions, start: str | None, pieces: Sequence[str] | None) -> tuple[str | None, ...]:
    """CTranslate2's names of pad, unknown, start and end. It has no padding, except in files that openwork wrote."""
    return (pieces[SYMBOL_IDS.pad] if pieces else None), conventions.unk_token, start, conventions.eos_token


def _tensors(
    weights: Weights, settings: TransformerSettings, source: Vocabulary, target: Vocabulary
) -> dict[str, Tensor]:
    """The weights by openwork's names, none of them tied."""
    tensors = _embeddings(weights, settings, source, target)
    if settings.positions == "learned":
        tensors |= _positions(weights, settings)
    return tensors | layer_tensors(weights, settings)


def layer_tensors(weights: Weights, settings: StacksSettings) -> dict[str, Tensor]:
    """The weights of all layers and of the norms around them."""
    tensors: dict[str, Tensor] = {}
    for name, own in places(settings).items():
        tensors |= _parts(weights, name, own, settings)
    for scope, own in attentions(settings.encoder_layers, settings.decoder_layers).items():
        scale = weights.number(f"{scope}/queries_scale")
        if scale is not None:  # openwork's is 1 / sqrt(d_k) always
            for kind in ("weight", "bias") if settings.attention_bias else ("weight",):
                tensors[f"{own}.query.{kind}"] *= scale * settings.key_width**0.5
    return tensors


def _parts(weights: Weights, name: str, own: tuple[str, ...], settings: StacksSettings) -> dict[str, Tensor]:
    """One array of CTranslate2's as the weights of openwork's that it holds; a missing bias is zero."""
    found = weights.get(name)
    if found is None and name.endswith("/bias"):
        found = np.zeros(len(weights.required(name.removesuffix("bias") + "weight")), np.float32)
    if found is None:
        raise weights.lacking(name)
    heads = {"query": settings.heads, "key": settings.key_value_count, "value": settings.key_value_count}
    sizes = [len(found) if found.ndim else 0]
    if len(own) > 1:  # the rows of queries, keys and values
        sizes = [heads[part.split(".")[-2]] * settings.key_width for part in own]
    if not found.ndim or sum(sizes) != len(found):
        raise weights.mismatch(f"{name} is {found.shape}, and the heads need {sum(sizes)} rows")
    return dict(zip(own, torch.tensor(found).split(sizes), strict=True))


def _embeddings(
    weights: Weights, settings: TransformerSettings, source: Vocabulary, target: Vocabulary
) -> dict[str, Tensor]:
    """Embeddings, output matrix and its bias in openwork's order; a symbol that is no token there is never produced."""
    tables = {}
    for side, vocabulary in ((ENCODER, source), (DECODER, target)):
        table = vocabulary.gather(torch.tensor(weights.embeddings(side)))
        own = settings.width**0.5 if settings.embedding_scale else 1.0
        scale = embedding_scale(weights, side, settings.width)
        tables[side] = table if math.isclose(own, scale, rel_tol=1e-6) else table * (scale / own)
    size = len(weights.embeddings(DECODER))
    output = weights.matrix(OUTPUT)
    bias = weights.required(OUTPUT_BIAS) if OUTPUT_BIAS in weights else np.zeros(size, np.float32)
    if len(output) != size or bias.shape != (size,):
        raise weights.mismatch(f"{OUTPUT} is {output.shape}, its bias {bias.shape}, and there are {size:,} tokens")
    last = target.gather(torch.tensor(bias))
    for number, external in enumerate(target.external):
        if external is None or target.own[external] != number:  # no token there, or one that would count twice
            last[number] = NEVER
    return {
        SOURCE_TABLE: tables[ENCODER],
        TARGET_TABLE: tables[DECODER],
        OUTPUT_MATRIX: target.gather(torch.tensor(output)),
        "bias": last,
    }


def _positions(weights: Weights, settings: TransformerSettings) -> dict[str, Tensor]:
    inner = ".added" if settings.embedding_norm else ""
    tensors = {}
    for side, name in ((ENCODER, "source"), (DECODER, "target")):
        given = f"{side}/{POSITIONS}"
        made = given not in weights
        table = made_positions(settings.table_size, settings.width) if made else torch.tensor(weights.matrix(given))
        tensors[f"{name}_positions{inner}.table.weight"] = table[: settings.table_size]
    return tensors


def _are_sinusoids(weights: Weights, settings: TransformerSettings) -> bool:
    """Whether both tables hold the paper's sinusoids, as in a file that openwork wrote: then any length is possible."""
    tables = [weights.get(f"{side}/{POSITIONS}") for side in (ENCODER, DECODER)]
    return all(
        table is not None and torch.equal(torch.tensor(table), sinusoids(len(table), settings.width))
        for table in tables
    )


def made_positions(positions: int, width: int) -> Float[Tensor, "position width"]:
    """What CTranslate2 adds where a model has no table: sin(p w_i) for half of the width, then cos(p w_i).

    w_i = 10000^(-i / (width / 2 - 1)), and p counts from 1. This is tensor2tensor's reading of section 3.5 and not the
    paper's formula, whose exponents are 2i / width and whose sines and cosines take turns.
    """
    half = width // 2
    waves = torch.exp(torch.arange(half, dtype=torch.float64) * (-math.log(10000.0) / max(half - 1, 1)))
    angles = torch.arange(1, positions + 1, dtype=torch.float64)[:, None] * waves
    return torch.cat([angles.sin(), angles.cos()], dim=-1).float()


SOURCE_TABLE, TARGET_TABLE, OUTPUT_MATRIX = "source_embedding.table.weight", "target_embedding.table.weight", "output"


# CTranslate2's defaults.
DECODING = DecodingSettings(
    beam=2, length_penalty=1.0, length_rule="power", unfinished="ranked", extra_length=1024, maximum_length=256
)


def bundle_from_ctranslate2(
    folder: Path, tokenizers: TokenizerPair | None = None, contents: Contents | None = None
) -> Bundle:
    """The bundle; it translates as CTranslate2 does, but never produces pad, unknown or start.

    `tokenizers`: by default those in the folder, as `write_ctranslate2` puts them there. BundleError where they lack
    tokens that the model can produce, or where sources have other symbols around them than an end symbol.
    """
    check_downloaded(folder)
    tokenizers = tokenizers or _own_tokenizers(folder)
    names = token_names(tokenizers.source), token_names(tokenizers.target)
    read = read_ctranslate2(folder, names, contents)
    _check_frame(folder, read.conventions)
    missing = read.target.left_out
    if missing:
        raise BundleError(
            f"{folder}: these tokenizers are not those of this model",
            why=f"they lack {len(missing):,} of its {len(read.target.names):,} target tokens, such as {missing[0]!r}",
            hint="name the tokenizers that its texts were cut with",
            code="B004",
        )
    card = f"# A model of CTranslate2\n\nRead from the folder {folder.name} by openwork.\n"
    return Bundle(BundleSettings(model=read.settings, decoding=DECODING), tokenizers, read.model, card=card)


def _own_tokenizers(folder: Path) -> TokenizerPair:
    if any(folder.glob("*tokenizer.json")):
        return TokenizerPair.load(folder)
    raise BundleError(
        f"{folder}: the folder holds no tokenizer",
        why="a model of CTranslate2 knows its tokens by their names, and not how a text is cut into them",
        hint="name the tokenizers that its texts were cut with: --source-tokenizer and --target-tokenizer",
        code="B005",
    )


def _check_frame(folder: Path, conventions: Conventions) -> None:
    if conventions.add_source_bos or not conventions.add_source_eos:
        raise BundleError(
            f"{folder}: this model cannot become a bundle",
            why="its sources begin with a start symbol, and those of a bundle do not"
            if conventions.add_source_bos
            else "its sources have no end symbol, and those of a bundle end with one",
            hint="openwork.interop.ctranslate2.reading reads it for use from Python",
            code="B006",
        )
