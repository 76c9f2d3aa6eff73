"""What a box calculates: its formula, where it is described, and our functions that are it. Read from its modules."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from openwork.cost.model_map.boxes import PlacedBox
from openwork.models.interfaces import SequenceModel
from openwork.nn.attention import MultiHeadAttention, PlainProducts, ScaledProducts
from openwork.nn.distances import NoDistances, Rotary
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import GatedFeedForward
from openwork.nn.kernels import reference
from openwork.nn.masks import causal
from openwork.nn.normalisation import BatchNorm, RMSNorm
from openwork.nn.positions import (
    NormalisedPositions,
    SinusoidalPositions,
    SplitSinusoids,
    exact_sinusoids,
    split_sinusoids,
)
from openwork.nn.residual import BranchNorm, NormConnection, PreNorm, ProjectedResidual
from openwork.training.loss import smoothed_cross_entropy

PAPER = "Vaswani et al. 2017, section"
OURS = "openwork."


class Meaning(NamedTuple):
    """What is known of a box beside its numbers.

    `source`: paper and section; "" where it is in no paper that we follow. `exhibits`: what `openwork paper` calls it.
    """

    formulas: tuple[str, ...]
    source: str
    exhibits: tuple[str, ...]
    code: tuple[Callable[..., Any], ...]


# Formulas, section and exhibits of what does not depend on the options of a model.
SECTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "embedding": (f"{PAPER} 3.4", ("formula embedding",)),
    "segments": ("Devlin et al. 2019, section 3", ()),
    "patches": ("Dosovitskiy et al. 2021, section 3.1", ()),
    "stem": ("Radford et al. 2023 (Whisper), section 2.2", ()),
    "self-attention": (f"{PAPER} 3.2", ("eq 1", "formula multi-head")),
    "masked-attention": (f"{PAPER} 3.2.3", ("eq 1", "formula multi-head", "formula mask")),
    "cross-attention": (f"{PAPER} 3.2.3", ("eq 1", "formula multi-head")),
    "feedforward": (f"{PAPER} 3.3", ("eq 2",)),
    "add-norm": (f"{PAPER} 3.1", ("formula residual",)),
    "add": (f"{PAPER} 3.1", ("formula residual",)),
    "output": (f"{PAPER} 3.4", ("formula embedding",)),
    "softmax": (f"{PAPER} 3.4", ()),
}
MADE_BY: dict[type, tuple[Callable[..., Any], ...]] = {
    SinusoidalPositions: (exact_sinusoids,),
    SplitSinusoids: (split_sinusoids,),
}
ACTIVATIONS = {"ReLU": "max(0, {})", "GELU": "GELU({})", "SiLU": "SiLU({})", "Sigmoid": "σ({})"}
SINUSOIDS = (
    "PE(pos, 2i) = sin(pos / 10000^(2i / d_model))",
    "PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))",
)


def meaning_of(model: SequenceModel, box: PlacedBox) -> Meaning:
    """What the box is in this model, by the modules of its first layer."""
    names = box.copies[0] if box.copies else ()
    modules = [model.get_submodule(name) for name in names]
    if box.role == "softmax":
        return Meaning(("p = softmax(logits)",), *SECTIONS["softmax"], (smoothed_cross_entropy,))
    if box.role == "output":
        has_bias, matrix = model.output_bias is not None, "E^T" if _is_tied(model) else "W^T"
        return Meaning(
            (f"logits = x {matrix}{' + b' if has_bias else ''}",), *SECTIONS["output"], (type(model).project,)
        )
    if box.role.startswith(("add", "norm")) and box.slot.startswith(("encoder.", "decoder.")):
        connection = _connection(model, names[0])
        if connection is not None:
            return _of_connection(box, connection)
    module = modules[0]
    source, exhibits = SECTIONS.get(box.role, ("", ()))
    if box.role == "positions":
        source, exhibits = _positions_source(module)
    elif isinstance(module, MultiHeadAttention) is False and box.role == "cross-attention":
        source, exhibits = "Bahdanau et al. 2015; Luong et al. 2015", ()
    return Meaning(_formulas(box.role, module), source, exhibits, _code(model, names[0], module, box.role))


def _is_tied(model: SequenceModel) -> bool:
    names = [name for name, one in model.named_parameters(remove_duplicate=False) if one is model.output_weight]
    return any("embedding" in name for name in names)


def _connection(model: SequenceModel, name: str) -> NormConnection | None:
    """The connection that a module is, or is a part of."""
    while name:
        module = model.get_submodule(name)
        if isinstance(module, NormConnection):
            return module
        if isinstance(module, ProjectedResidual):
            return module.wiring
        name = name.rpartition(".")[0]
    return None


def _of_connection(box: PlacedBox, connection: NormConnection) -> Meaning:
    norm = _norm_name(connection.norm)
    source, exhibits = SECTIONS["add-norm"]
    if isinstance(connection, PreNorm):
        formula, method = (f"{norm}(x)", "before") if box.role == "norm" else (f"x + Sublayer({norm}(x))", "after")
        return Meaning((formula,), "Xiong et al. 2020", exhibits, (getattr(type(connection), method),))
    if isinstance(connection, BranchNorm):
        return Meaning((f"x + {norm}(Sublayer(x))",), "Liu et al. 2022", exhibits, (BranchNorm.after,))
    formula = {"add": "x + Sublayer(x)", "norm": f"{norm}(Sublayer(x))"}.get(box.role, f"{norm}(x + Sublayer(x))")
    return Meaning((formula,), source, exhibits, (type(connection).after,))


def _norm_name(norm: nn.Module) -> str:
    return "RMSNorm" if isinstance(norm, RMSNorm) else "BatchNorm" if isinstance(norm, BatchNorm) else "LayerNorm"


def _positions_source(module: nn.Module) -> tuple[str, tuple[str, ...]]:
    added = module.added if isinstance(module, NormalisedPositions) else module
    if isinstance(added, SplitSinusoids):
        return f"{PAPER} 3.5, in the authors' code", ()
    is_ours = isinstance(added, SinusoidalPositions)
    return (f"{PAPER} 3.5", ("formula positions",)) if is_ours else ("Gehring et al. 2017, section 3.1", ())


def _formulas(role: str, module: nn.Module) -> tuple[str, ...]:
    if isinstance(module, MultiHeadAttention):
        return _attention_formulas(module, role)
    match role:
        case "embedding":
            return ("E[id] √d_model" if isinstance(module, TokenEmbedding) and module.scale != 1 else "E[id]",)
        case "segments":
            return ("x + S[segment]",)
        case "positions":
            return _position_formulas(module)
        case "patches":
            return ("x E + b",)
        case "stem":
            return ("GELU(Conv(GELU(Conv(x))))",)
        case "feedforward":
            return _feedforward_formulas(module)
        case "norm":
            return (f"{_norm_name(module)}(x)",)
        case _:
            return ()


def _attention_formulas(module: MultiHeadAttention, role: str) -> tuple[str, ...]:
    """The formulas with what depends on the distance: a bias B of each score, or a rotation of queries and keys."""
    bias = "" if isinstance(module.distances, NoDistances | Rotary) else " + B"
    weights = {
        ScaledProducts: f"softmax(Q K^T / √d_k{bias})",
        PlainProducts: f"softmax(Q K^T{bias})",
    }.get(type(module.weighing))
    own = (f"Attention(Q, K, V) = {weights} V",) if weights else ()
    turned = ("q = R_pos W_q x, k = R_pos W_k x",) if isinstance(module.distances, Rotary) else ()
    masked = ("score = −∞ where key > query",) if role == "masked-attention" else ()
    joined = "MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W_o"
    return (*own, *turned, "head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)", joined, *masked)


def _position_formulas(module: nn.Module) -> tuple[str, ...]:
    if isinstance(module, NormalisedPositions):
        (*before, last) = _position_formulas(module.added)
        return (*before, f"{_norm_name(module.norm)}({last})")
    if isinstance(module, SplitSinusoids):
        return ("PE(pos, i) = sin(pos / 10000^(i / (d_model / 2 − 1)))", "x + PE[pos]")
    if isinstance(module, SinusoidalPositions):
        return (*SINUSOIDS, "x + PE[pos]")
    return ("x + P[pos]",)


def _feedforward_formulas(module: Any) -> tuple[str, ...]:
    activation = ACTIVATIONS.get(type(module.activation).__name__, "f({})")
    if isinstance(module, GatedFeedForward):
        return (f"FFN(x) = ({activation.format('x W')} ∘ x V) W_2",)
    return (f"FFN(x) = {activation.format('x W_1 + b_1')} W_2 + b_2",)


def _code(model: SequenceModel, name: str, module: nn.Module, role: str) -> tuple[Callable[..., Any], ...]:
    """The module's own calculation; of a module of the framework, the method of ours that calls it."""
    if isinstance(module, MultiHeadAttention):
        own = module.weighing.weight_function or reference.attention_weights
        return (type(module).forward, own, *((causal,) if role == "masked-attention" else ()))
    if isinstance(module, NormalisedPositions):
        return type(module).at, *_code(model, name, module.added, role)
    if role == "positions":
        kind: Any = type(module)
        return (kind.at, *MADE_BY.get(kind, ()))
    while name and not type(module).forward.__module__.startswith(OURS):
        name = name.rpartition(".")[0]
        module = model.get_submodule(name)
    if name:
        return (type(module).forward,)
    return (getattr(type(model), "encode", None) or getattr(type(model), "start"),)  # noqa: B009
