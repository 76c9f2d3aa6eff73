"""Training with weights or the optimiser's state divided between processes, for models that need more than one holds.

What an update needs of each weight on one process (Rajbhandari et al. 2020, section 3): the weight, its gradient, and
two moments, 16 bytes in float32. `SharedOptimiser` divides the moments, `ShardedCopy` everything.
"""

import copy
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from openwork.base.errors import ConfigError
from openwork.base.messages import msg
from openwork.machine.precision import PrecisionName
from openwork.machine.processes import Processes
from openwork.models.interfaces import PackingModel, SequenceModel
from openwork.models.weights import model_facts
from openwork.nn.layers import DecoderLayer, layers_of
from openwork.nn.normalisation import has_batch_norms
from openwork.training.computing.rounding import Rounding
from openwork.training.computing.working_copy import WorkingCopy
from openwork.training.kept_zeros import Mask
from openwork.training.settings import TrainingSettings


class SharedOptimiser(WorkingCopy):
    """Each process keeps the optimiser's state of some weights, moves these, and sends them to the others."""

    divides = True

    def __init__(
        self, model: SequenceModel, precision: PrecisionName, processes: Processes, rounding: Rounding | None = None
    ) -> None:
        super().__init__(model, precision, processes, rounding)
        owners = divided([weight.numel() for weight in self.own], processes.count)
        self._owned = [[self.own[place] for place in places] for places in owners]
        if not all(self._owned):
            raise ConfigError(
                f"training.sharding: {processes.count} processes cannot share {len(self.own)} weights",
                hint='set training.sharding = "none", or train on fewer processes',
                code="C110",
            )

    def moved(self) -> list[nn.Parameter]:
        return self._owned[self.processes.rank]

    def stepped(self) -> None:
        for rank, weights in enumerate(self._owned):
            self.processes.spread([weight.detach() for weight in weights], rank)
        super().stepped()


def divided(sizes: Sequence[int], count: int) -> list[list[int]]:
    """The places of `sizes` in `count` groups of about the same sum: the largest first, into the smallest group."""
    groups: list[list[int]] = [[] for _ in range(count)]
    sums = [0] * count
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        smallest = sums.index(min(sums))
        groups[smallest].append(place)
        sums[smallest] += sizes[place]
    return [sorted(group) for group in groups]


class ShardedCopy(WorkingCopy):
    """Each process keeps a part of every weight, its gradient and its moments (torch's `fully_shard`, FSDP2).

    The weights of a layer are gathered while it computes. The whole model is there too, to validate and to be written:
    4 bytes a weight, which are up to date after `publish`.
    """

    divides = in_step = True

    def __init__(
        self,
        model: SequenceModel,
        settings: TrainingSettings,
        processes: Processes,
        rounding: Rounding | None = None,
    ) -> None:
        self.whole, self.processes = model, processes
        _check(model, settings, rounding)
        shared = model_facts(model).values()
        self.model = copy.deepcopy(model, {id(tensor): tensor for tensor in shared})
        # no layer changes what another has returned in place
        warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")
        mesh = init_device_mesh(next(model.parameters()).device.type, (processes.count,))
        for layer in layers_of(self.model):
            fully_shard(layer, mesh=mesh)
            if isinstance(layer, DecoderLayer):
                register_fsdp_forward_method(layer, "start")  # keys and values of the memory, before the layers
        fully_shard(self.model, mesh=mesh)
        if isinstance(self.model, PackingModel):
            register_fsdp_forward_method(self.model, "forward_packed")
        self.own = self.working = [weight for weight in self.model.parameters() if weight.requires_grad]

    @property
    def stored(self) -> SequenceModel:
        return self.model

    def masks_of_stored(self, masks: list[Mask]) -> list[Mask]:
        parts = dict(zip(self.whole.parameters(), self.model.parameters(), strict=True))
        found = list[Mask]()
        for weight, mask in masks:
            part = parts[weight]
            assert isinstance(part, DTensor)
            found.append((part, distribute_tensor(mask, part.device_mesh, part.placements)))
        return found

    def refresh(self) -> None:
        for weight in self.own:
            weight.grad = None

    def gradients(self, loss: Tensor, learning: Sequence[bool]) -> list[Tensor | None]:
        """Adds them to those of the weights; torch takes the mean over processes, and a sum is wanted."""
        (loss * self.processes.count).backward()
        for weight, learns in zip(self.own, learning, strict=True):
            if not learns:
                weight.grad = None
        return []

    def take(self, gradients: Sequence[Sequence[Tensor | None]], *, more: bool = False) -> None:
        """They are where they belong."""

    def join(self, losses: Sequence[float | int]) -> list[float]:
        return self.processes.total(*losses)

    def clip(self, most: float) -> Tensor:
        norm = nn.utils.clip_grad_norm_(self.own, most)
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    def stepped(self) -> None:
        """Nothing is made of these weights but by torch."""

    def publish(self) -> None:
        with torch.no_grad():
            for whole, part in zip(self.whole.parameters(), self.model.parameters(), strict=True):
                assert isinstance(part, DTensor)
                whole.copy_(part.full_tensor())


def _check(model: SequenceModel, settings: TrainingSettings, rounding: Rounding | None) -> None:
    """ConfigError for what FSDP2 cannot do here."""
    problem = ""
    if not layers_of(model):
        problem = msg("only Transformers have layers that can be gathered one after another")
    elif has_batch_norms(model):
        problem = msg("batch normalisation needs the sentences of all processes at once")
    elif settings.optimiser == "adafactor":
        problem = msg("adafactor keeps a number for each row and column of a whole matrix")
    elif settings.optimiser == "muon":
        problem = msg("muon makes steps of whole matrices")
    elif rounding is not None:
        problem = msg("fine_tuning.quantise rounds whole rows of matrices")
    if problem:
        raise ConfigError(
            'training.sharding: "full" does not go with this training',
            why=problem,
            hint='set training.sharding = "optimiser" or "none"',
            code="C111",
        )
