"""The model that updates compute with: in the type of the matrix products, and in whole on every process."""

import copy
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn

from openwork.machine.precision import TYPES, PrecisionName
from openwork.machine.processes import ALONE, Processes
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_facts
from openwork.nn.attention import MultiHeadAttention
from openwork.nn.embedding import TokenEmbedding
from openwork.nn.feedforward import FeedForward
from openwork.nn.kernels.in_layout import linear_in_layout, linears_in_layout, rectified_in_layout
from openwork.nn.kernels.native import products
from openwork.training.computing.rounding import Rounding, with_own_matrices
from openwork.training.kept_zeros import Mask


class WorkingCopy:
    """The model in the type of the matrix products, cast once an update; in float32 that is the model itself.

    Left to itself, the framework's autocast casts each weight in each forward pass and each input of a product on its
    way in, and all gradients back one by one: a tenth of an update on a CPU. Here the matrices of linear layers are
    next to the model's in the narrow type, cast when the model's changed, and what flows between the sub-layers is
    narrow from the embeddings on. Embeddings, norms with their statistics, and positions are the model's own, in
    float32; so are all sums of gradients, what the optimiser remembers, and the loss.
    """

    def __init__(
        self,
        model: SequenceModel,
        precision: PrecisionName,
        processes: Processes = ALONE,
        rounding: Rounding | None = None,
    ) -> None:
        """`rounding`: applied to the weights before they are cast. Every matrix then has a copy, also in float32."""
        # A recurrent cell adds up its state over all positions, which wants float32 between the products.
        recurrent = any(isinstance(module, nn.RNNBase | nn.RNNCellBase) for module in model.modules())
        narrow = precision != "float32" and not recurrent
        self.whole, self.processes = model, processes
        computed = model if rounding is None else with_own_matrices(model)
        self.model = _narrowed(computed, TYPES[precision]) if narrow else computed
        pairs = list(zip(model.parameters(), self.model.parameters(), strict=True))
        self.own = [own for own, _ in pairs if own.requires_grad]
        self.working = [working for _, working in pairs if working.requires_grad]
        self._cast = [(own, working) for own, working in pairs if own is not working]
        self._rounding = rounding

    divides = False
    """Whether processes keep different parts, so that each writes its own."""
    in_step = False
    """Whether all processes make the same passes at the same time, be it without a sentence."""

    @property
    def stored(self) -> SequenceModel:
        """The model whose weights the optimiser moves and checkpoints hold."""
        return self.whole

    def masks_of_stored(self, masks: list[Mask]) -> list[Mask]:
        """Masks of the model's weights as those of the stored ones."""
        return masks

    def refresh(self) -> None:
        """Casts the weights, after they have changed; on a GPU by one operation.

        Frozen weights are cast too: a checkpoint may have been loaded since.
        """
        if self._cast:
            own, working = zip(*self._cast, strict=True)
            with torch.no_grad():
                torch._foreach_copy_(working, own if self._rounding is None else [*map(self._rounding, own)])

    def gradients(self, loss: Tensor, learning: Sequence[bool]) -> list[Tensor | None]:
        """The gradients of a loss with respect to the working weights; None for those that do not learn."""
        wanted = [weight for weight, learns in zip(self.working, learning, strict=True) if learns]
        found = iter(torch.autograd.grad(loss, wanted, allow_unused=True))
        # In one piece: the framework gives gradients of matrices transposed, and here each worker turns its own.
        made = (next(found) if learns else None for learns in learning)
        return [None if gradient is None else gradient.contiguous() for gradient in made]

    def join(self, losses: Sequence[float | int]) -> list[float]:
        """The gradients of all processes are added up; returns the sums of the losses.

        A weight that no process has a gradient of has none afterwards: an optimiser leaves it as it is.
        """
        there = [own.grad is not None for own in self.own]
        sums = self.processes.total(*losses, *there)
        for own, count in zip(self.own, sums[len(losses) :], strict=True):
            if count and own.grad is None:
                own.grad = torch.zeros_like(own)
        self.processes.add_up([own.grad for own in self.own if own.grad is not None])
        return sums[: len(losses)]

    def clip(self, most: float) -> Tensor:
        """The norm of the gradient of all weights, which is at most `most` afterwards."""
        return nn.utils.clip_grad_norm_(self.own, most)

    def moved(self) -> list[nn.Parameter]:
        """The weights that this process's optimiser moves."""
        return self.own

    def stepped(self) -> None:
        """After the optimiser's step."""
        # The framework's fused optimisers do not count this as a change; who keeps something made of the weights asks.
        torch.autograd.graph.increment_version(list(self.whole.parameters()))

    def publish(self) -> None:
        """Brings the whole model, which validates, up to date."""

    def take(self, gradients: Sequence[Sequence[Tensor | None]], *, more: bool = False) -> None:
        """Sums of gradients by working weights become the model's; `more`: on top of those taken before.

        A gradient is written where that of the update before was.
        """
        if not more and not gradients:
            for own in self.own:
                own.grad = None
        for number, part in enumerate(gradients):
            self._take_part(part, more=more or number > 0)

    def _take_part(self, part: Sequence[Tensor | None], *, more: bool) -> None:
        """In few operations, since a GPU waits for each; a weight without a gradient keeps the earlier one."""
        places, written = list[Tensor](), list[Tensor]()
        for own, gradient in zip(self.own, part, strict=True):
            if gradient is None:
                own.grad = own.grad if more else None
            elif more and own.grad is not None:
                own.grad += gradient
            else:
                # In the layout of the weight, which the optimiser's kernel takes for granted.
                own.grad = torch.empty_like(own) if own.grad is None else own.grad
                places.append(own.grad)
                written.append(gradient)
        if written:
            torch._foreach_copy_(places, written)


def _narrowed(model: SequenceModel, dtype: torch.dtype) -> SequenceModel:
    """A copy that shares all weights but those of its linear layers, and whose embeddings give vectors of `dtype`.

    It shares what the model keeps besides, too: running statistics that it moves are the model's own.
    """
    shared = [*model.parameters(), *model_facts(model).values()]
    narrow = copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
    for module in narrow.modules():
        if isinstance(module, nn.Linear):
            for name, parameter in list(module.named_parameters(recurse=False)):
                cast = nn.Parameter(parameter.detach().to(dtype), requires_grad=parameter.requires_grad)
                setattr(module, name, cast)
        elif isinstance(module, TokenEmbedding):
            module.register_forward_hook(lambda _module, _inputs, output: output.to(dtype))
    on_gpu = any(weight.is_cuda for weight in narrow.parameters())
    if on_gpu or (dtype is torch.bfloat16 and products.is_available()):
        compute_in_layout(narrow, joins=on_gpu)
    return narrow


def compute_in_layout(narrow: nn.Module, joins: bool = True) -> None:
    """Has linear layers leave their gradients where the optimiser wants them, in fewer and larger products.

    The rectifier of a feed-forward network becomes a part of its product, and with `joins` the projections of keys and
    values become one.
    """
    for module in narrow.modules():
        if type(module) is nn.Linear:
            vars(module)["forward"] = partial(linear_in_layout, module)
    for module in narrow.modules():
        if type(module) is FeedForward and type(module.activation) is nn.ReLU and _is_plain(module.expand):
            vars(module.expand)["forward"] = partial(rectified_in_layout, module.expand)
            module.activation = nn.Identity()
        elif joins and isinstance(module, MultiHeadAttention) and all(map(_is_plain, (module.key, module.value))):
            _join(module)


def _join(attention: MultiHeadAttention) -> None:
    """The weights of keys and values become parts of one matrix."""
    layers = [attention.key, attention.value]
    if any(layer.bias is not None for layer in layers):
        return
    joined = torch.cat([layer.weight.detach() for layer in layers])
    for layer, part in zip(layers, joined.split([layer.out_features for layer in layers]), strict=True):
        layer.weight = nn.Parameter(part)
    vars(attention)["projected"] = partial(linears_in_layout, layers, joined)


def _is_plain(layer: nn.Module) -> bool:
    """Whether it is a linear layer that learns, and nothing else."""
    return type(layer) is nn.Linear and layer.weight.requires_grad
