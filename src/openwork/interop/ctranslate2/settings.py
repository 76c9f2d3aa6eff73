"""The settings of a model of CTranslate2, from its numbers and the arrays that it has. No torch here."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from openwork.base.errors import BundleError
from openwork.interop.ctranslate2 import layout
from openwork.interop.ctranslate2.binary import Contents
from openwork.interop.ctranslate2.vocabulary import Conventions
from openwork.models.settings import TransformerSettings

NEWEST_REVISION = 7
# Names of the specification -> heads, which revisions before 3 did not write down.
SPECIFICATIONS: dict[str, int | None] = {"TransformerBase": 8, "TransformerBig": 16, "TransformerSpec": None}
MADE_POSITIONS = 1024  # rows of the table where CTranslate2 computes positions; a translator takes as many tokens
GLOBAL_SCALE = 1000.0  # of 16-bit weights that have no scale of their own

# Arrays without influence on the result, or without it if they have this value, by the last part of the name.
IDLE: dict[str, float | None] = {
    **dict.fromkeys(("alignment_layer", "alignment_heads"), None),  # which attention is returned
    **dict.fromkeys(("alibi_use_positive_positions", "scale_alibi"), None),
    "multi_query_attention": None,  # num_heads_kv says it as well
    "embeddings_merge": None,  # of several inputs
    **dict.fromkeys(("alibi", "sliding_window", "final_logit_softcapping", "layer_norm_use_residual"), 0),
    **dict.fromkeys(("scale_outputs", "layer_scalar", "rotary_interleave", "rotary_scaling_factor"), 1),
    "rotary_base": 10000,
    # now in config.json; `vocabulary.py` reads them
    **dict.fromkeys(("with_source_bos", "with_source_eos", "with_target_bos", "user_decoder_start_tokens"), None),
    **dict.fromkeys(("unk_token", "bos_token", "eos_token"), None),
}


class Weights:
    """The arrays of a `model.bin` as float32, by all of their names; remembers which were read."""

    def __init__(self, folder: Path, contents: Contents) -> None:
        self.folder = folder
        self.contents = contents
        self._read: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.contents.variables or name in self.contents.aliases

    def get(self, name: str) -> np.ndarray | None:
        """The array, dequantised from 8 or 16 bits if need be; None if there is none."""
        if name not in self:
            return None
        stored = self.contents.aliases.get(name, name)
        numbers, scale = self.contents.variables[stored], self.contents.variables.get(f"{stored}_scale")
        self._read |= {stored, f"{stored}_scale"}
        if numbers.ndim == 0 or numbers.dtype.kind == "f":
            return numbers.astype(np.float32)
        if scale is None and numbers.dtype.itemsize == 1:
            raise self.lacking(f"{stored}_scale")
        each = np.array(GLOBAL_SCALE, np.float32) if scale is None else scale.astype(np.float32)
        if (each.ndim and each.shape != numbers.shape[:1]) or not each.all():
            raise self.mismatch(f"{stored} is {numbers.shape}, and its scales are {each.shape}, or one of them is 0")
        return numbers.astype(np.float32) / (each.reshape(-1, *[1] * (numbers.ndim - 1)) if each.ndim else each)

    def required(self, name: str) -> np.ndarray:
        found = self.get(name)
        if found is None:
            raise self.lacking(name)
        return found

    def matrix(self, name: str) -> np.ndarray:
        found = self.required(name)
        if found.ndim != 2:
            raise self.mismatch(f"{name} is {found.shape} and no matrix")
        return found

    def embeddings(self, side: str) -> np.ndarray:
        """The table of a side: a row for each token."""
        several = f"{side}/{layout.FIRST_EMBEDDINGS}"
        return self.matrix(several if several in self else f"{side}/{layout.EMBEDDINGS}")

    def number(self, *names: str) -> float | None:
        """The single number that has one of these names, the first that there is."""
        for name in names:
            found = self.get(name)
            if found is not None:
                if found.size != 1 or not np.isfinite(found).all():
                    raise self.mismatch(f"{name} is no single number")
                return float(found.reshape(()))
        return None

    def same(self, one: str, other: str) -> bool:
        """Whether two names are those of one array."""
        return self.contents.aliases.get(one, one) == self.contents.aliases.get(other, other)

    def unused(self) -> Iterator[str]:
        """The names of arrays that were never read and influence the result."""
        for name, numbers in self.contents.variables.items():
            part = name.rpartition("/")[2]
            idle = part in IDLE and (IDLE[part] is None or bool((numbers == IDLE[part]).all()))
            if name not in self._read and not idle:
                yield name

    def lacking(self, name: str) -> BundleError:
        return self.mismatch(f"{name} is not in its model.bin")

    def mismatch(self, why: str) -> BundleError:
        return BundleError(
            f"{self.folder}: the parts of this model do not fit together",
            why=why,
            hint="copy the whole folder of the model, or convert it again",
            code="B009",
        )

    def size_error(self, name: str, tensor: Any, shape: tuple[int, ...]) -> BundleError:
        return self.mismatch(f"{name} is {tuple(tensor.shape)}, and the sizes need {shape}")

    def unsupported(self, name: str) -> BundleError:
        return BundleError(
            f"{self.folder}: this model has a part that openwork's Transformer has not",
            why=f"{name} in its model.bin",
            hint="use this model with CTranslate2 itself, or import one without that part",
            code="B010",
        )


def transformer_settings(weights: Weights, conventions: Conventions) -> TransformerSettings:
    """The settings of the model that computes the same, ties left aside; BundleError where there is none."""
    contents = weights.contents
    if contents.specification not in SPECIFICATIONS or contents.revision > NEWEST_REVISION:
        raise BundleError(
            f"{weights.folder}: this model of CTranslate2 is no Transformer that openwork knows",
            why=f"it is a {contents.specification or 'model without a name'} of revision {contents.revision}",
            hint="import a model with an encoder and a decoder, of the specification TransformerSpec",
            code="B011",
        )
    first = f"{layout.ENCODER}/layer_0"
    layers = [layer_count(side, contents.variables) for side in (layout.ENCODER, layout.DECODER)]
    width = int(weights.embeddings(layout.ENCODER).shape[1])
    rms = f"{first}/ffn/layer_norm/beta" not in weights
    values = {
        "width": width,
        "encoder_layers": layers[0],
        "decoder_layers": layers[1],
        "feedforward_width": int(weights.matrix(f"{first}/ffn/linear_0/weight").shape[0]),
        "feedforward": _feedforward(weights, first),
        "norm": "pre" if alike(weights, "pre_norm", 1) else "post",
        "normalisation": "rms" if rms else "layer",
        "norm_epsilon": conventions.layer_norm_epsilon or (1e-6 if rms else 1e-5),
        "embedding_norm": f"{layout.ENCODER}/layernorm_embedding/gamma" in weights,
        "embedding_scale": embedding_scale(weights, layout.ENCODER, width) != 1,
        "attention_bias": any("attention/linear_" in name and name.endswith("/bias") for name in contents.variables),
        "output_bias": True,  # symbols that CTranslate2 lacks must never be produced
        **_heads(weights, width, list(layout.attentions(*layers))),
    }
    try:
        return TransformerSettings.model_validate(values)
    except ValidationError as error:
        why = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise BundleError(
            f"{weights.folder}: openwork has no Transformer of the sizes of this model",
            why=why,
            hint="use this model with CTranslate2 itself, or convert it again",
            code="B012",
        ) from error


def _heads(weights: Weights, width: int, scopes: list[str]) -> dict[str, object]:
    """The settings of the attentions, which must all be alike."""
    heads = int(alike(weights, "num_heads", SPECIFICATIONS[weights.contents.specification]))
    shared = 1 if _everywhere(weights, scopes, "multi_query") else _everywhere(weights, scopes, "num_heads_kv")
    head_width = _everywhere(weights, scopes, "head_dim")
    values: dict[str, object] = {"heads": heads, "key_value_heads": int(shared) if shared else None}
    if head_width:
        values |= {"head_width": int(head_width), "value_width": int(head_width)}
    of_sequences = [scope for scope in scopes if scope.endswith("/self_attention")]
    rotated = _everywhere(weights, of_sequences, "rotary_dim")
    if rotated is not None:
        if rotated not in (0, head_width or width // max(heads, 1)):
            raise weights.unsupported(f"rotary_dim {rotated:g}, less than a head's width,")
        return values | {"positions": "rotary"}
    keys = weights.get(f"{of_sequences[0]}/relative_position_keys")
    if keys is not None:
        return values | {"positions": "relative", "relative_distance": (len(keys) - 1) // 2 if keys.ndim else 0}
    tables = [f"{side}/{layout.POSITIONS}" for side in (layout.ENCODER, layout.DECODER)]
    sizes = [len(weights.matrix(name)) for name in tables if name in weights]
    return values | {"positions": "learned", "maximum_length": min(sizes, default=MADE_POSITIONS)}


def _everywhere(weights: Weights, scopes: list[str], name: str) -> float | None:
    """A number that every attention has, or none."""
    values = {weights.number(f"{scope}/{name}") for scope in scopes}
    if len(values) > 1:
        raise weights.unsupported(f"{name}, not the same in all layers,")
    return values.pop()


def embedding_scale(weights: Weights, side: str, width: int) -> float:
    """The factor of the embeddings: a number, or for a flag of 8 bits the root of the width."""
    names = (f"{side}/scale_embeddings", f"{side}/embeddings/multiply_by_sqrt_depth")
    found = weights.number(*names)
    stored = next((weights.contents.variables[name] for name in names if name in weights.contents.variables), None)
    if found is None or stored is None:
        return width**0.5
    if stored.dtype.itemsize == 1:
        return width**0.5 if found else 1.0
    return found


def alike(weights: Weights, name: str, default: float | None) -> float:
    """A number that older revisions have once, and newer ones for encoder and decoder."""
    found = [weights.number(f"{side}/{name}", name) for side in (layout.ENCODER, layout.DECODER)]
    values = {default if one is None else one for one in found}
    value = values.pop()
    if values or value is None:
        raise weights.unsupported(f"{name}, another one in the encoder than in the decoder,")
    return value


def layer_count(side: str, variables: Mapping[str, np.ndarray]) -> int:
    numbers = {name.split("/")[1] for name in variables if name.startswith(f"{side}/layer_")}
    missing = next(count for count in range(len(numbers) + 1) if f"layer_{count}" not in numbers)
    return max(missing, 1)  # without any, the error names the first layer's weights


def _feedforward(weights: Weights, layer: str) -> str:
    gated = f"{layer}/ffn/linear_0_noact/weight" in weights
    activation = int(alike(weights, "activation", 0))
    for kind, known in layout.FEEDFORWARDS.items():
        if known == (activation, gated):
            return kind
    raise weights.unsupported(f"activation {activation}")
