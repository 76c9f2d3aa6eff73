"""Updates: the same run twice, or interrupted and resumed, gives the same weights, bit for bit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from openwork.data.batching import BatchPlan, BatchSettings, assemble
from openwork.data.store import TokenStore
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.models.weights import model_weights
from openwork.training.batches.batch import BatchStream, TensorBatch, to_tensors
from openwork.training.checkpoint import resume_latest
from openwork.training.loss import batch_loss, smoothed_cross_entropy
from openwork.training.optimisers import optimiser_tensors
from openwork.training.progress import Progress
from openwork.training.step import StepReport
from training.tiny import BATCH_NORMALISED, CPU, MODEL, RECURRENT, SETTINGS, make_store, make_training, save_checkpoint

KINDS: dict[str, TransformerSettings | RecurrentSettings] = {
    "transformer": MODEL,
    "recurrent": RECURRENT,
    "batch normalised": BATCH_NORMALISED,
}
FAMILIES = pytest.mark.parametrize("family", [MODEL, RECURRENT], ids=lambda settings: settings.kind)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


REPEATED: list[dict[str, object]] = [
    {},
    {"accumulate": 2},
    {"precision": "bfloat16"},
    {"r_drop": 2.0},
    {"workers": 2},
    {"workers": 3, "precision": "bfloat16", "accumulate": 2},
]
# Their states are of weights, whichever model these are of: all families are a matter of `make long`.
OPTIMISERS: list[dict[str, object]] = [
    {"optimiser": "adamw", "weight_decay": 0.1},
    {"optimiser": "sgd"},
    {"optimiser": "adagrad"},
    {"optimiser": "adafactor"},
]
COMBINED: list[dict[str, object]] = [{"accumulate": 2}, {"workers": 2}]  # what the last of REPEATED has together
PRECISE: list[dict[str, object]] = [{"precision": "bfloat16"}, {"r_drop": 2.0}]  # as the transformer's


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        pytest.param(
            family,
            changes,
            id=f"{name} {changes}",
            marks=[pytest.mark.long] * (changes in OPTIMISERS + COMBINED + PRECISE and family is not MODEL),
        )
        for name, family in KINDS.items()
        for changes in REPEATED + OPTIMISERS
    ],
)
def test_a_run_is_repeated_and_resumed_bit_for_bit(
    tmp_path: Path, store: TokenStore, family: TransformerSettings | RecurrentSettings, changes: dict[str, object]
) -> None:
    settings = SETTINGS.model_copy(update=changes)
    first, second = (make_training(store, settings, family) for _ in range(2))
    place = Progress()
    first.go(settings, place)
    assert place.step == 12 and place.epoch >= 1  # over the border of an epoch
    second.go(settings, Progress())
    assert same(model_weights(first.model), model_weights(second.model))

    third, half = make_training(store, settings, family), Progress()
    third.go(settings.model_copy(update={"steps": 5}), half)
    assert not same(model_weights(first.model), model_weights(third.model))
    save_checkpoint(tmp_path, third.model, third.optimiser, half)
    torch.manual_seed(12345)  # whatever else happens in a new process
    fourth = make_training(store, settings.model_copy(update={"seed": 77}), family)
    fourth = replace(fourth, stream=second.stream)
    fourth.updater.settings = settings
    resumed = resume_latest(tmp_path, fourth.model, fourth.optimiser)
    assert resumed is not None
    fourth.go(settings, resumed.progress)
    assert same(model_weights(first.model), model_weights(fourth.model))
    assert same(optimiser_tensors(first.model, first.optimiser), optimiser_tensors(fourth.model, fourth.optimiser))
    assert (resumed.progress.epoch, resumed.progress.batch) == (place.epoch, place.batch)
    assert resumed.progress.target_tokens == place.target_tokens


def weights_after_three_updates(store: TokenStore, **changes: object) -> dict[str, Tensor]:
    settings = SETTINGS.model_copy(update=changes)
    training = make_training(store, settings)
    training.go(settings.model_copy(update={"steps": 3}), Progress())
    return model_weights(training.model)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"optimiser": "sgd"},
        {"optimiser": "sgd", "momentum": 0.5},
        {"optimiser": "adagrad"},
        {"optimiser": "adafactor"},
        {"optimiser": "adamw", "weight_decay": 0.1},
        {"smoothing_form": "others"},
        {"label_smoothing": 0.3},
        {"r_drop": 1.0},
        {"schedule": "constant", "warmup": 1},
        {"epsilon": 1e-3},
        {"beta1": 0.5},
        {"beta2": 0.5},
    ],
    ids=str,
)
def test_each_option_makes_another_run(store: TokenStore, changes: dict[str, object]) -> None:
    assert not same(weights_after_three_updates(store), weights_after_three_updates(store, **changes))


@pytest.mark.slow
def test_r_drop_of_nothing_is_off_exactly(store: TokenStore) -> None:
    assert same(weights_after_three_updates(store), weights_after_three_updates(store, r_drop=0.0))


@pytest.mark.slow
def test_another_seed_is_another_run(store: TokenStore) -> None:
    found = []
    for seed in (1, 2):
        training = make_training(store)  # the same first weights and batches: dropout alone differs
        training.updater.settings = SETTINGS.model_copy(update={"seed": seed})
        training.go(SETTINGS, Progress())
        found.append(model_weights(training.model))
    assert not same(*found)


def batches_of(store: TokenStore, count: int, tokens: int = 40) -> list[TensorBatch]:
    stream = BatchStream(store, BatchPlan.of(store, BatchSettings(tokens=tokens), 1), CPU)
    progress = Progress()
    return [stream.next(progress) for _ in range(count)]


@pytest.mark.slow
@FAMILIES
def test_several_batches_are_one_large_batch(
    store: TokenStore, family: TransformerSettings | RecurrentSettings
) -> None:
    still = family.model_copy(update={"dropout": 0.0})
    parts = [np.arange(0, 7), np.arange(7, 16), np.arange(16, 20)]
    whole = to_tensors(assemble(store, np.arange(20)), CPU)
    found = []
    for batches in ([to_tensors(assemble(store, rows), CPU) for rows in parts], [whole]):
        training = make_training(store, SETTINGS, still)
        reports = [training.updater.update(batches, step) for step in (1, 2)]
        found.append((reports, model_weights(training.model)))
    for ours, theirs in zip(found[0][0], found[1][0], strict=True):
        assert ours.loss == pytest.approx(theirs.loss, rel=1e-5)
        assert ours.gradient_norm == pytest.approx(theirs.gradient_norm, rel=1e-4)
        assert (ours.target_tokens, ours.source_tokens, ours.sentences) == (
            theirs.target_tokens, theirs.source_tokens, theirs.sentences,
        )  # fmt: skip
    for name, tensor in found[0][1].items():
        torch.testing.assert_close(tensor, found[1][1][name], rtol=1e-3, atol=2e-5)


def test_the_report_says_what_happened(store: TokenStore) -> None:
    training, (batch,) = make_training(store), batches_of(store, 1)
    report = training.updater.update([batch], 3)
    assert isinstance(report, StepReport)
    assert report.step == 3 and report.learning_rate == pytest.approx(0.01 * 3 / 4)
    assert report.target_tokens == batch.target_tokens == int(batch.real.numel())
    assert report.loss > report.likelihood * 0.9 > 0 and report.gradient_norm > 0


def test_the_loss_counts_real_tokens_only(store: TokenStore) -> None:
    model = make_training(store).model.eval()
    for batch in batches_of(store, 3):
        hidden = model(batch.source, batch.source_lengths, batch.target_input)
        logits = model.project(hidden).flatten(0, 1)[batch.real]
        expected = smoothed_cross_entropy(logits, batch.real_targets, 0.1)
        found = batch_loss(model, batch, 0.1, "float32")
        torch.testing.assert_close(found.smoothed, expected.smoothed)
        assert bool((batch.real_targets >= 3).all())  # no padding, no start; the end is predicted
        assert int((batch.real_targets == 3).sum()) == batch.sentences


def test_clipping_bounds_the_gradient(store: TokenStore) -> None:
    (batch,) = batches_of(store, 1)
    seen: list[float] = []
    for limit in (0.0, 1e-3):
        settings = SETTINGS.model_copy(update={"clip_norm": limit})
        training = make_training(store, settings)
        training.optimiser.zero_grad = lambda set_to_none=True: None  # type: ignore[method-assign]
        report = training.updater.update([batch], 1)
        grown = [weight.grad.norm() for weight in training.model.parameters() if weight.grad is not None]
        seen += [report.gradient_norm, torch.stack(grown).norm().item()]
    assert seen[0] == pytest.approx(seen[1], rel=1e-5)  # 0: as it is
    assert seen[2] == pytest.approx(seen[0], rel=1e-5)  # reported before clipping
    assert seen[3] == pytest.approx(1e-3, rel=1e-3)


def test_a_loss_that_is_no_number_changes_nothing(store: TokenStore) -> None:
    training, batches = make_training(store), batches_of(store, 2)
    assert not training.updater.update(batches[:1], 1).skipped
    training.model.output_weight.detach()[4, 0] = float("nan")
    before = {name: tensor.clone() for name, tensor in model_weights(training.model).items()}
    report = training.updater.update(batches[1:], 2)
    assert report.skipped and report.learning_rate == 0.0
    for name, tensor in model_weights(training.model).items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0, equal_nan=True)


def test_a_stream_starts_at_any_place(store: TokenStore) -> None:
    plan = BatchPlan.of(store, BatchSettings(tokens=40), 1)
    progress = Progress()
    stream, seen = BatchStream(store, plan, CPU), []
    for _ in range(2 * len(plan.epoch(0)) + 3):
        place = progress.epoch, progress.batch
        seen.append((place, stream.next(progress)))
    assert progress.epoch == 2
    for (epoch, number), batch in seen:
        again = BatchStream(store, plan, CPU).next(Progress(epoch=epoch, batch=number))
        assert torch.equal(again.source, batch.source) and torch.equal(again.real_targets, batch.real_targets)
    for epoch in (0, 1):  # each sentence once an epoch
        assert sum(batch.sentences for (number, _), batch in seen if number == epoch) == len(store)


def test_a_stream_makes_the_plan_of_an_epoch_once(store: TokenStore) -> None:
    asked: list[int] = []

    class Counting(BatchPlan):
        def epoch(self, number: int):
            asked.append(number)
            return super().epoch(number)

    stream = BatchStream(store, Counting.of(store, BatchSettings(tokens=40), 1), CPU)
    progress = Progress(epoch=4)
    for _ in range(3):
        stream.next(progress)
    assert asked == [4]
