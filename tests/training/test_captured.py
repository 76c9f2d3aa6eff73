"""Updates from batches of few shapes: the gradients of plain batches, with fillings that do not count."""

import numpy as np
import pytest
import torch
from torch import Tensor

from openwork.data.batching import assemble
from openwork.data.store import TokenStore
from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_weights
from openwork.nn.kernels import gpu
from openwork.nn.kernels.gpu.trials import try_training_kernels
from openwork.training.batches.batch import SoftTokens, TrainingBatch, to_tensors
from openwork.training.batches.packing import NOT_REAL, FewSizes, PackedBatch, pack
from openwork.training.computing.captured import Captured, GraphMemory
from openwork.training.loss import LossSums, batch_loss
from openwork.training.optimisers import optimiser_tensors, restore_optimiser
from training.tiny import CPU, MODEL, SETTINGS, Training, make_store, make_training

SIZES = FewSizes.of(64)
PLAIN = SETTINGS.model_copy(update={"clip_norm": 0.5})
UNDROPPED = MODEL.model_copy(update={"dropout": 0.0})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("captured") / "store")


def few(store: TokenStore, rows: np.ndarray) -> PackedBatch:
    return pack(assemble(store, rows), CPU, SIZES)


def test_fillings_are_told_from_real_targets(store: TokenStore) -> None:
    batch, plain = few(store, np.arange(5)), pack(assemble(store, np.arange(5)), CPU)
    assert batch.real_targets.shape[0] == batch.target_input.tokens.shape[1] > batch.target_tokens
    assert batch.target_tokens == plain.target_tokens == len(plain.real_targets)
    assert torch.equal(batch.real_targets[: batch.target_tokens], plain.real_targets)
    assert (batch.real_targets[batch.target_tokens :] == NOT_REAL).all()


def test_sizes_hold_a_whole_batch_in_eight_steps() -> None:
    for tokens in (64, 500, 4096, 25_000):
        sizes = FewSizes.of(tokens)
        assert 8 * sizes.tokens >= tokens + sizes.fillers and sizes.tokens % 64 == 0
        assert (sizes.tokens + sizes.fillers) / sizes.fillers <= 16  # sentences of padding are no longer than that


def test_shapes_do_not_depend_on_small_differences(store: TokenStore) -> None:
    shapes = set()
    for first in range(6):
        batch = few(store, np.arange(first, first + 6))
        rows = batch.source, batch.target_input
        assert len({row.segments.maximum_length for row in rows}) == 1
        shapes.add((*(row.tokens.shape for row in rows), rows[0].segments.starts.shape, batch.real_targets.shape))
    assert len(shapes) == 1


def test_a_batch_comes_in_parts_with_the_same_sentences(store: TokenStore) -> None:
    whole = few(store, np.arange(7))
    parts = whole.parts(3)
    assert [part.sentences for part in parts] == [3, 2, 2]
    assert sum(part.target_tokens for part in parts) == whole.target_tokens
    assert sum(part.source_tokens for part in parts) == whole.source_tokens
    model = make_training(store, PLAIN, UNDROPPED).model
    with torch.no_grad():
        losses = [float(batch_loss(model, part, 0.1, "float32").smoothed) for part in parts]
        expected = float(batch_loss(model, whole, 0.1, "float32").smoothed)
    assert sum(losses) == pytest.approx(expected, rel=1e-5)
    assert whole.parts(1) == [whole]


def test_parts_have_their_own_sentences_of_the_teacher(store: TokenStore) -> None:
    whole = few(store, np.arange(5))
    count = whole.target_tokens
    ids = torch.arange(count)[:, None] + torch.tensor([0, 100])
    whole.teacher = SoftTokens(ids, torch.full(ids.shape, 0.5))
    parts = whole.parts(2)
    expected = whole.real_targets[:count].tolist()
    for part in parts:
        assert part.teacher is not None
        mine = part.teacher.ids[:, 0].tolist()
        assert [expected[place] for place in mine] == part.real_targets[: part.target_tokens].tolist()
    places = torch.cat([part.teacher.ids[:, 0] for part in parts if part.teacher is not None])
    assert places.sort().values.tolist() == list(range(count))


def test_updates_are_those_of_padded_batches(store: TokenStore) -> None:
    """Also where an update has several batches, and where one has a loss that is no number."""
    made = [make_training(store, PLAIN, UNDROPPED) for _ in range(2)]
    rows = [np.arange(4), np.arange(4, 9), np.arange(9, 12)]
    for step in range(1, 4):
        which = rows[: 1 + step % 2]
        padded = made[0].updater.update([to_tensors(assemble(store, one), CPU) for one in which], step)
        captured = made[1].updater.update([few(store, one) for one in which], step)
        assert captured.loss == pytest.approx(padded.loss, rel=1e-5)
        assert captured.likelihood == pytest.approx(padded.likelihood, rel=1e-5)
        assert captured.gradient_norm == pytest.approx(padded.gradient_norm, rel=1e-4)
        assert (captured.target_tokens, captured.sentences) == (padded.target_tokens, padded.sentences)
    first, second = (model_weights(one.model) for one in made)
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, rtol=1e-3, atol=1e-5)


def test_an_update_without_numbers_changes_nothing(store: TokenStore) -> None:
    """The optimiser itself leaves the step out, since nobody has waited for the loss by then."""
    one = make_training(store, PLAIN, UNDROPPED)
    one.updater.update([few(store, np.arange(4))], 1)
    with torch.no_grad():
        spoilt = one.model.output_weight
        kept = spoilt[0, 0].clone()
        spoilt[0, 0] = torch.nan
    before = {name: weight.clone() for name, weight in model_weights(one.model).items()}
    steps = [state["step"].clone() for state in one.optimiser.state.values()]
    report = one.updater.update([few(store, np.arange(4))], 2)
    assert report.skipped and report.learning_rate == 0.0
    after = model_weights(one.model)
    assert all(
        torch.equal(
            after[name],
            weight,
        )
        or weight.isnan().any()
        for name, weight in before.items()
    )
    assert [state["step"] for state in one.optimiser.state.values()] == steps
    with torch.no_grad():
        spoilt[0, 0] = kept
    assert not one.updater.update([few(store, np.arange(4))], 3).skipped


def test_gradients_that_were_freed_are_written_where_they_were(store: TokenStore) -> None:
    """A graph writes to the memory that it knows."""
    one = make_training(store, PLAIN, UNDROPPED)
    one.updater.update([few(store, np.arange(4))], 1)
    places = [own.grad.data_ptr() for own in one.updater.copy.own if own.grad is not None]
    for own in one.updater.copy.own:
        own.grad = None
    one.updater.update([few(store, np.arange(4))], 2)
    assert [own.grad.data_ptr() for own in one.updater.copy.own if own.grad is not None] == places


def test_weights_that_do_not_learn_yet_have_no_gradient(store: TokenStore) -> None:
    """Nor do they get the one of another update back."""
    settings = PLAIN.model_copy(update={"layer_groups": ("decoder", "encoder"), "unfreeze_every": 2})
    one, other = (make_training(store, settings, UNDROPPED) for _ in range(2))
    for step in range(1, 7):
        rows = [np.arange(4), np.arange(4, 9)][: 1 + step % 2]
        one.updater.update([few(store, each) for each in rows], step)
        other.updater.update([to_tensors(assemble(store, each), CPU) for each in rows], step)
        mine, theirs = ([own.grad is not None for own in made.updater.copy.own] for made in (one, other))
        assert mine == theirs
    for (name, weight), expected in zip(
        model_weights(one.model).items(), model_weights(other.model).values(), strict=True
    ):
        torch.testing.assert_close(weight, expected, rtol=1e-3, atol=1e-5, msg=name)


def test_only_batches_of_few_shapes_are_captured(store: TokenStore) -> None:
    captured = make_training(store, PLAIN).updater.captured
    assert isinstance(captured, Captured)
    batch = assemble(store, np.arange(4))
    assert captured.takes(pack(batch, CPU, SIZES))
    assert not captured.takes(pack(batch, CPU)) and not captured.takes(to_tensors(batch, CPU))
    assert make_training(store, SETTINGS.model_copy(update={"optimiser": "sgd"})).updater.captured is None


def test_kernels_for_gpus_are_not_for_cpus() -> None:
    assert not gpu.is_available(CPU)


def test_a_batch_for_which_memory_is_not_enough_is_computed_in_parts(store: TokenStore) -> None:
    one, other = (make_training(store, PLAIN, UNDROPPED) for _ in range(2))
    captured = one.updater.captured
    assert captured is not None
    objective = captured.objective

    def wants_memory(model: SequenceModel, batch: TrainingBatch) -> LossSums:
        if batch.sentences > 3:
            raise torch.OutOfMemoryError("out of memory")
        return objective(model, batch)

    captured.objective = wants_memory
    found = one.updater.update([few(store, np.arange(9))], 1)
    expected = other.updater.update([few(store, np.arange(9))], 1)
    assert one.updater.divisions == 4
    assert found.loss == pytest.approx(expected.loss, rel=1e-5)
    assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-4)
    assert not captured.captures  # what is left of the memory is for the parts


def test_graphs_share_the_memory_of_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    free = [1000]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[0], 10_000))
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))
    memory = GraphMemory(torch.device("cuda"))
    assert memory.has_room(800) and not emptied  # 960 with some room
    free[0] = 100
    assert memory.has_room(800) and memory.has_room(880) and not emptied  # 80 more than is held
    assert not memory.has_room(1200) and emptied
    memory.free()
    assert not memory.has_room(100) and memory.has_room(80)


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
GPU = torch.device("cuda")
ROWS = [np.arange(4), np.arange(4, 8)]


def updates(one: Training, steps: range) -> dict[str, Tensor]:
    """The weights after these updates, of one or two batches each."""
    for step in steps:
        batches = [pack(assemble(STORES[0], rows), GPU, SIZES) for rows in ROWS[: 1 + step % 2]]
        one.updater.update(batches, step)
    return {name: weight.cpu().clone() for name, weight in model_weights(one.model).items()}


STORES: list[TokenStore] = []


@needs_gpu
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_captured_updates_are_those_that_are_not_captured(store: TokenStore, precision: str) -> None:
    """Bit by bit, dropout included."""
    STORES[:] = [store]
    settings = PLAIN.model_copy(update={"precision": precision})
    results = []
    for captures in (True, False):
        one = make_training(store, settings, device=GPU)
        assert try_training_kernels(one.model, set(), GPU)
        assert one.updater.captured is not None
        one.updater.captured.captures = captures
        results.append(updates(one, range(1, 7)))
    for name, weight in results[0].items():
        assert torch.equal(results[1][name], weight), name


@needs_gpu
def test_a_resumed_training_on_a_gpu_has_the_same_bits(store: TokenStore) -> None:
    """What the uninterrupted one has captured, the resumed one computes as it comes."""
    STORES[:] = [store]
    settings = PLAIN.model_copy(update={"precision": "bfloat16"})
    whole, first, second = (make_training(store, settings, device=GPU) for _ in range(3))
    assert try_training_kernels(whole.model, set(), GPU)
    expected = updates(whole, range(1, 9))
    updates(first, range(1, 6))
    second.model.load_state_dict(first.model.state_dict())
    tensors = optimiser_tensors(first.model, first.optimiser)
    restore_optimiser(second.model, second.optimiser, tensors)
    found = updates(second, range(6, 9))
    for name, weight in expected.items():
        assert torch.equal(found[name], weight), name


@needs_gpu
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_on_a_gpu_are_near_those_of_a_cpu(store: TokenStore, norm: str) -> None:
    """With our kernels in bfloat16, beside float32 by the formulas."""
    model = UNDROPPED.model_copy(update={"norm": norm, "width": 64, "feedforward_width": 96})
    settings = PLAIN.model_copy(update={"clip_norm": 0.0})
    plain = make_training(store, settings, model)
    narrow = make_training(store, settings.model_copy(update={"precision": "bfloat16"}), model, device=GPU)
    assert try_training_kernels(narrow.model, {(32, 32)}, GPU)
    report = plain.updater.update([to_tensors(assemble(store, np.arange(12)), CPU)], 1)
    found = narrow.updater.update([pack(assemble(store, np.arange(12)), GPU, SIZES)], 1)
    assert found.loss == pytest.approx(report.loss, rel=1e-2)
    assert found.gradient_norm == pytest.approx(report.gradient_norm, rel=3e-2)
    for own, other in zip(plain.updater.copy.own, narrow.updater.copy.own, strict=True):
        assert own.grad is not None and other.grad is not None
        assert (other.grad.cpu() - own.grad).norm() < 0.1 * own.grad.norm() + 1e-4
