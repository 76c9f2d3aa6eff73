"""Updates under the profiler: the same updates, every part seen, in every thread."""

import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights
from openwork.training.computing.profiling import make_updates, profiled_updates
from openwork.training.computing.time_division import GROUPS
from openwork.training.progress import Progress
from training.tiny import SETTINGS, make_store, make_training

pytestmark = pytest.mark.slow

MODEL = TransformerSettings(
    width=8, heads=2, feedforward_width=12, encoder_layers=1, decoder_layers=1, dropout=0.2, attention_dropout=0.1
)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_updates_are_those_of_a_training_and_every_part_is_seen(tmp_path: Path, workers: int) -> None:
    store = make_store(tmp_path / "store")
    settings = SETTINGS.model_copy(update={"workers": workers})
    plain, watched = (make_training(store, settings, MODEL) for _ in range(2))
    place, watched_place = Progress(), Progress()
    make_updates(plain.updater, plain.stream, place, 3)
    objective = watched.updater.objective
    updates, division = profiled_updates(watched.updater, watched.stream, watched_place, 3)
    assert watched_place == place and place.step == 3
    assert updates.target_tokens == sum(report.target_tokens for report in updates.reports) > 0
    first, second = model_weights(plain.model), model_weights(watched.model)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert [group for group in GROUPS if division.seconds(group) <= 0] == []
    assert abs(sum(map(division.share, GROUPS)) - 1) < 1e-9
    assert division.total <= updates.seconds
    assert {"aten::mul", "aten::random_"} <= set(division.operators["dropout"])  # forward, and the same mask backward
    assert "aten::native_layer_norm_backward" in division.operators["normalisation"]
    assert watched.updater.objective is objective
    assert not torch.nn.modules.module._global_forward_pre_hooks and not torch.nn.modules.module._global_forward_hooks


def test_other_threads_are_recorded_with_the_places_of_their_modules(tmp_path: Path) -> None:
    training = make_training(make_store(tmp_path / "store"), model_settings=MODEL)
    objective, norm = training.updater.objective, torch.nn.LayerNorm(4)
    # what nothing else in a training calls: a cosine of a norm, as if this norm had a way of its own
    norm.forward = torch.cos  # type: ignore[method-assign]

    def with_a_worker(model: Any, batch: Any) -> Any:
        worker = threading.Thread(target=norm, args=(torch.ones(100, 100),))
        worker.start()
        worker.join()
        return objective(model, batch)

    training.updater.objective = with_a_worker
    _, division = profiled_updates(training.updater, training.stream, Progress(), 1)
    assert division.operators["normalisation"]["aten::cos"] > 0
