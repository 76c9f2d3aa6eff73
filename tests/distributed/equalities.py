"""Run in several processes: trainings in miniature, divided between them, and the same on one.

`python -m distributed.equalities FOLDER` prints for each case how far its weights are from those of one process.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from openwork.data.batching import BatchPlan, BatchSettings
from openwork.data.store import TokenStore
from openwork.machine.processes import ALONE, Processes, join
from openwork.models.build import build_model
from openwork.models.families import ModelSettings
from openwork.models.settings import DecoderSettings
from openwork.models.weights import model_weights
from openwork.training.averaging import MovingAverage
from openwork.training.batches.batch import BatchStream
from openwork.training.computing.choice import arrangement, working_copy
from openwork.training.loss import batch_loss
from openwork.training.optimisers import make_optimiser
from openwork.training.progress import Progress
from openwork.training.schedules import make_schedule
from openwork.training.step import StepReport, Updater
from training.tiny import BATCH_NORMALISED, CPU, FILLER, MODEL, RECURRENT, SETTINGS, VOCABULARY

UPDATES = 8
TOKENS = 40  # of a batch, for all processes together
ZEROS = MODEL.model_copy(update={"start_vector": "zeros"})
SPEAKER = DecoderSettings(width=8, heads=2, feedforward_width=12, layers=2, dropout=0.2)


class Case(NamedTuple):
    """A model and the settings in which its training differs from the usual one."""

    name: str
    model: ModelSettings
    changes: dict[str, Any]


def still(model: ModelSettings) -> ModelSettings:
    return model.model_copy(update={"dropout": 0.0})


CASES = [
    Case("without dropout", still(MODEL), {}),
    Case("with dropout", MODEL, {}),
    Case("optimiser divided", MODEL, {"sharding": "optimiser"}),
    Case("all divided", MODEL, {"sharding": "full"}),
    Case("all divided, averaged", still(MODEL), {"sharding": "full", "ema": 0.9, "accumulate": 2}),
    Case("optimiser divided, averaged", MODEL, {"sharding": "optimiser", "ema": 0.9, "accumulate": 2}),
    Case("language model, all divided", SPEAKER, {"sharding": "full"}),
    Case("accumulated", MODEL, {"accumulate": 3}),
    Case("R-Drop", MODEL, {"r_drop": 1.0}),
    Case("groups of layers", MODEL, {"layer_groups": ("decoder",), "layer_decay": 2.0, "unfreeze_every": 3}),
    Case("groups, all divided", MODEL, {"layer_groups": ("decoder",), "unfreeze_every": 3, "sharding": "full"}),
    *(Case(name, MODEL, {"optimiser": name}) for name in ("sgd", "adagrad", "adafactor", "muon")),
    *(
        Case(f"{name} divided", MODEL, {"optimiser": name, "sharding": "optimiser"})
        for name in ("sgd", "adafactor", "muon")
    ),
    *(Case(f"{name}, all divided", MODEL, {"optimiser": name, "sharding": "full"}) for name in ("sgd", "adagrad")),
    # a bias before a batch norm has no gradient but rounding, which Adam would make large
    Case("batch normalisation", still(BATCH_NORMALISED), {"optimiser": "sgd"}),
    Case("masked pieces", FILLER, {}),
    Case("a start of zeros", ZEROS, {}),
    Case("a start of zeros, divided", ZEROS, {"sharding": "optimiser"}),
    Case("a start of zeros, all divided", ZEROS, {"sharding": "full"}),
    Case("recurrent", still(RECURRENT), {}),
]  # fmt: skip


class Trained(NamedTuple):
    """What a training comes to."""

    weights: dict[str, Tensor]
    average: dict[str, Tensor]
    reports: list[StepReport]


def trained(store: TokenStore, case: Case, processes: Processes, parts: int) -> Trained:
    """`parts`: of every batch, whoever computes them."""
    settings = SETTINGS.model_copy(update={"workers": parts, **case.changes})
    torch.manual_seed(settings.seed)
    model = build_model(case.model, VOCABULARY, VOCABULARY)
    copy = working_copy(model, settings, "float32", processes)
    optimiser = make_optimiser(copy.stored, settings, copy.moved())
    average = MovingAverage(copy.stored, settings.ema) if settings.ema else None
    schedule = make_schedule(settings, case.model.width)
    updater = Updater(model, optimiser, schedule, settings, "float32", copy)
    plan = BatchPlan.of(store, BatchSettings(tokens=TOKENS), settings.seed)
    stream = BatchStream(store, plan, CPU, arrangement(settings, 4096, model, "float32", CPU), processes)
    progress, reports = Progress(), []
    for step in range(1, UPDATES + 1):
        batches = [stream.next(progress) for _ in range(settings.accumulate)]
        reports.append(updater.update(batches, step))
        if average is not None:
            average.update(step)
    copy.publish()
    averages = {} if average is None else {name: whole(tensor) for name, tensor in average.weights.items()}
    return Trained(model_weights(model), averages, reports)


def whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def difference(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    assert one.keys() == other.keys()
    return max((float((one[name].double() - other[name].double()).abs().max()) for name in one), default=0.0)


def compare(store: TokenStore, case: Case, processes: Processes) -> dict[str, Any]:
    """The training with the others beside all of it in the first process; and whether all have the same weights."""
    ours = trained(store, case, processes, processes.count)
    between = difference(ours.weights, first_weights(ours.weights, processes))
    if not processes.is_first:
        return {"case": case.name, "between": between}
    alone = trained(store, case, ALONE, processes.count)
    losses = [abs(a.loss - b.loss) for a, b in zip(ours.reports, alone.reports, strict=True)]
    same = all(
        (a.target_tokens, a.source_tokens, a.sentences) == (b.target_tokens, b.source_tokens, b.sentences)
        for a, b in zip(ours.reports, alone.reports, strict=True)
    )
    return {
        "case": case.name,
        "weights": difference(ours.weights, alone.weights),
        "average": difference(ours.average, alone.average),
        "losses": max(losses),
        "counts": same,
        "between": between,
    }


def first_weights(weights: dict[str, Tensor], processes: Processes) -> dict[str, Tensor]:
    copies = {name: tensor.clone() for name, tensor in weights.items()}
    processes.spread(list(copies.values()), 0)
    return copies


class Loss(nn.Module):
    """The loss of a batch as a module's forward pass, which torch's DistributedDataParallel wants."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> Tensor:
        return batch_loss(self.model, batch, 0.1, "float32").smoothed


def as_torch(store: TokenStore, processes: Processes) -> dict[str, Any]:
    """The gradients of one batch as torch's DistributedDataParallel has them, and ours."""
    torch.manual_seed(1)
    model = build_model(still(MODEL), VOCABULARY, VOCABULARY)
    plan = BatchPlan.of(store, BatchSettings(tokens=TOKENS), 1)
    batch = BatchStream(store, plan, CPU, processes=processes).next(Progress())
    copy = working_copy(model, SETTINGS, "float32", processes)
    loss = Loss(model)(batch)
    copy.take([copy.gradients(loss, [True] * len(copy.own))])
    copy.join([])
    ours = {str(place): weight.grad.clone() for place, weight in enumerate(copy.own) if weight.grad is not None}
    model.zero_grad()
    parallel = DistributedDataParallel(Loss(model))
    (processes.count * parallel(batch)).backward()  # it takes the mean, and losses are sums
    theirs = {str(place): weight.grad for place, weight in enumerate(copy.own) if weight.grad is not None}
    return {"case": "DistributedDataParallel", "weights": difference(ours, theirs)}


def main() -> None:
    store = TokenStore.open(Path(sys.argv[1]))
    processes = join(lambda error: None)
    with processes.together():
        for case in CASES:
            print(json.dumps(compare(store, case, processes)), flush=True)
        print(json.dumps(as_torch(store, processes)), flush=True)


if __name__ == "__main__":
    main()
