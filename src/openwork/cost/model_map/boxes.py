"""The boxes of a model in the order of the paper's figure, found in the modules that the model is made of."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn

from openwork.models.bytenet import ResidualBlock
from openwork.models.convs2s import DecoderBlock, EncoderBlock, NormalisedLinear
from openwork.models.interfaces import SequenceModel
from openwork.models.recurrent_lm import LayerMixture
from openwork.models.wavenet import DilatedLayer
from openwork.nn.attention import KernelAttention
from openwork.nn.convolution import Convolution, PooledConvolution
from openwork.nn.dropout import Dropout
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.features import ConvolutionStem, FeatureEmbedding, PatchStem
from openwork.nn.layers import CausalLayer, DecoderLayer, EncoderLayer
from openwork.nn.normalisation import BatchNorm, RMSNorm
from openwork.nn.pooling import LinearBlock, Pooler, Transform
from openwork.nn.positions import NoPositions, Positions
from openwork.nn.recurrent import RecurrentEncoder
from openwork.nn.recurrent_decoders import GlobalAttention, LuongDecoder, NoAttention, RecurrentDecoder
from openwork.nn.residual import BranchNorm, PreNorm, ProjectedResidual, WithoutNorm, WithoutResidual

Side = Literal["source", "target"]

# What a module is, the first line that it belongs to; "" is drawn nowhere, None is looked into.
ROLES: tuple[tuple[Any, str], ...] = (
    ((Dropout, nn.Identity, NoPositions, NoAttention), ""),
    (Positions, "positions"),
    ((TokenEmbedding, nn.Embedding), "embedding"),
    ((FeatureEmbedding, PatchStem), "patches"),
    (ConvolutionStem, "stem"),
    ((KernelAttention, GlobalAttention), "cross-attention"),
    ((nn.RNNBase, nn.RNNCellBase, RecurrentEncoder), "cells"),
    ((Convolution, PooledConvolution, EncoderBlock, DecoderBlock, ResidualBlock, DilatedLayer), "convolution"),
    ((nn.LayerNorm, RMSNorm, BatchNorm), "norm"),
    ((Pooler, Transform, LinearBlock, LayerMixture), "head"),
    ((nn.Linear, NormalisedLinear), "projection"),
)
# The sub-layers of a layer in the order of calculation: attribute, its connection's, and what it is.
SUBLAYERS: dict[type[nn.Module], tuple[tuple[str, str, str], ...]] = {
    EncoderLayer: (
        ("self_attention", "attention_wiring", "self-attention"),
        ("feedforward", "feedforward_wiring", "feedforward"),
    ),
    DecoderLayer: (
        ("self_attention", "self_wiring", "masked-attention"),
        ("cross_attention", "cross_wiring", "cross-attention"),
        ("feedforward", "feedforward_wiring", "feedforward"),
    ),
    CausalLayer: (
        ("self_attention", "self_wiring", "masked-attention"),
        ("feedforward", "feedforward_wiring", "feedforward"),
    ),
}
# Modules whose children are held in another order than that of calculation.
ORDERS: dict[type[nn.Module], tuple[str, ...]] = {
    RecurrentDecoder: ("bridge", "attention", "first", "upper", "readout"),
    LuongDecoder: ("bridge", "stack", "attention", "readout"),
}
TARGET = ("decoder", "stack", "narrow", "embedding", "positions")  # of a model's children, beside those named target_
OUTPUT, SOFTMAX = "output", "softmax"


@dataclass(frozen=True)
class PlacedBox:
    """A box of the figure.

    Attributes:
        slot: its place, the same in all models that have it: "encoder.self_attention", "output".
        role: what it is: "self-attention", "feedforward"; "other" for what this file does not know.
        side: the column that it stands in.
        stack: the layers that it repeats with, such as "encoder"; "" for none.
        copies: the names of the modules that are it, in each layer; none of the softmax. "" is the model itself, of
            which the weights that are in no child belong to the box.
    """

    slot: str
    role: str
    side: Side
    stack: str
    copies: tuple[tuple[str, ...], ...]


def boxes_of(model: SequenceModel) -> list[PlacedBox]:
    """The source's column from below to above, then the target's."""
    found = [
        box
        for name, child in model._modules.items()
        if child is not None
        for box in _boxes(name, child, _side(name), "decoder" if _side(name) == "target" else "encoder")
    ]
    has_target = any(box.side == "target" for box in found)
    last: Side = "target" if has_target else "source"
    found += [PlacedBox(OUTPUT, OUTPUT, last, "", (("",),)), PlacedBox(SOFTMAX, SOFTMAX, last, "", ())]
    return sorted(found, key=lambda box: box.side == "target")


def _side(name: str) -> Side:
    return "target" if name in TARGET or name.startswith("target_") else "source"


def _role(name: str, module: nn.Module) -> str | None:
    if name == "segments":
        return "segments"
    return next((role for kinds, role in ROLES if isinstance(module, kinds)), None)


def _boxes(name: str, module: nn.Module, side: Side, stack: str) -> Iterator[PlacedBox]:
    """The boxes of one module and those inside it."""
    if isinstance(module, nn.ModuleList):
        yield from _layers(name, module, side, stack)
        return
    role = _role(name, module)
    children = {key: child for key, child in module._modules.items() if child is not None}
    if role is not None or not children or any(True for _ in module.parameters(recurse=False)):
        if role != "" and (role or any(True for _ in module.parameters())):
            yield PlacedBox(_slot(name, side, role or ""), role or "other", side, "", ((name,),))
        return
    inside = name if name in ("forwards", "backwards") else stack
    for key in ORDERS.get(type(module), tuple(children)):
        if key in children:
            yield from _boxes(f"{name}.{key}", children[key], side, inside)


def _slot(name: str, side: Side, role: str) -> str:
    """Embeddings and positions have the same place in all models, and so has what stands for an embedding."""
    if role in ("embedding", "patches", "stem"):
        return f"{side}.embedding"
    return f"{side}.positions" if role == "positions" else name


def _layers(name: str, layers: nn.ModuleList, side: Side, stack: str) -> Iterator[PlacedBox]:
    first = layers[0]
    numbered = [(f"{name}.{number}", layer) for number, layer in enumerate(layers)]
    if type(first) not in SUBLAYERS:
        yield from _plain_layers(numbered, side, stack)
        return
    for attribute, wiring, role in SUBLAYERS[type(first)]:
        place = f"{stack}.{attribute}"
        sublayer = PlacedBox(place, role, side, stack, tuple((f"{one}.{attribute}",) for one, _ in numbered))
        connections = [_connection(f"{one}.{wiring}", getattr(layer, wiring)) for one, layer in numbered]
        before, after = ([one[when] for one in connections] for when in ("before", "after"))
        if before[0]:
            yield PlacedBox(f"{place}.norm", "norm", side, stack, tuple(before))
        yield sublayer
        yield PlacedBox(f"{place}.add", _joining(getattr(first, wiring)), side, stack, tuple(after))


def _plain_layers(numbered: list[tuple[str, nn.Module]], side: Side, stack: str) -> Iterator[PlacedBox]:
    """Layers that are one box each, or two where they attend to the source."""
    role, attention = _role("", numbered[0][1]) or "other", "cross_attention"
    if not hasattr(numbered[0][1], attention):
        yield PlacedBox(f"{stack}.layers", role, side, stack, tuple((name,) for name, _ in numbered))
        return
    others = tuple(
        tuple(f"{name}.{key}" for key, child in layer.named_children() if key != attention and _role(key, child) != "")
        for name, layer in numbered
    )
    yield PlacedBox(f"{stack}.layers", role, side, stack, others)
    attentions = tuple((f"{name}.{attention}",) for name, _ in numbered)
    yield PlacedBox(f"{stack}.{attention}", "cross-attention", side, stack, attentions)


def _connection(name: str, wiring: Any) -> dict[str, tuple[str, ...]]:
    """The modules of a connection that act before the sub-layer, and those after it."""
    if isinstance(wiring, ProjectedResidual):
        inner = _connection(f"{name}.wiring", wiring.wiring)
        return inner | {"after": (*inner["after"], f"{name}.projection")}
    if isinstance(wiring, PreNorm):
        return {"before": (f"{name}.norm",), "after": (f"{name}.residual",)}
    return {"before": (), "after": (name,)}


def _joining(wiring: Any) -> str:
    """What happens after the sub-layer."""
    inner = wiring.wiring if isinstance(wiring, ProjectedResidual) else wiring
    if isinstance(inner, PreNorm | WithoutNorm):
        return "add"
    if isinstance(inner, BranchNorm):
        return "norm-add"
    return "norm" if isinstance(inner, WithoutResidual) else "add-norm"
