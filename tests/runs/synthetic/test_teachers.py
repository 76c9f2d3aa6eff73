"""A teacher's probabilities: those of its forced decoding, kept once, the same after a stop; and who is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from openwork.base.errors import ConfigError
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.data import soft_targets as soft_module
from openwork.data.batching import assemble
from openwork.data.soft_targets import soft_targets
from openwork.data.store import TokenStore, write_store
from openwork.decoding.ensemble import Ensemble
from openwork.decoding.rescore import score_tokens
from openwork.models.interfaces import StepModel
from openwork.runs.teachers import Teacher, teacher_targets
from openwork.text.pair import train_pair
from openwork.text.settings import TextSettings
from openwork.training.batches.batch import WithTeacher, to_tensors
from openwork.training.batches.packing import pack
from openwork.training.settings import DistillationSettings

CPU = torch.device("cpu")
PAIRS = [([5, 6, 7], [8, 9]), ([6], [7, 7, 7, 7]), ([9, 8], []), ([5, 5], [6])]


@pytest.fixture
def store(tiny_bundle: Bundle, tmp_path: Path) -> TokenStore:
    return write_store(tmp_path / "store", PAIRS, vocabulary_size=tiny_bundle.tokenizers.sizes[0], fingerprint="these")


def forced(model: StepModel, token: int, row: int, place: int) -> float:
    """The probability of another token in the place of one of a target's, by `score_tokens`."""
    source, target = PAIRS[row]
    wanted = [*target[:place], token]
    terms = score_tokens(model, torch.tensor([[*source, 3]]), torch.tensor([len(source) + 1]), [wanted], ended=False)
    return float(terms[0, place].exp())


@pytest.mark.parametrize("members", [1, 2])
def test_they_are_those_of_a_forced_decoding(tiny_bundle: Bundle, store: TokenStore, members: int) -> None:
    model: Any = tiny_bundle.model if members == 1 else Ensemble([tiny_bundle.model] * members).eval()
    size = tiny_bundle.tokenizers.sizes[1]
    ids, probabilities = Teacher(model, "float32", CPU, size).read(store, np.arange(4))
    assert ids.shape == (3 + 5 + 1 + 2, size)
    places = [(row, place) for row, (_, target) in enumerate(PAIRS) for place in range(len(target) + 1)]
    for (row, place), of, p in zip(places, ids, probabilities, strict=True):
        assert p.sum() == pytest.approx(1, abs=1e-5)
        for token in (3, 5, 8):  # the end symbol among them
            assert p[list(of).index(token)] == pytest.approx(forced(model, token, row, place), rel=1e-4, abs=1e-7)
    few, kept = Teacher(model, "float32", CPU, 3).read(store, np.arange(4))
    np.testing.assert_array_equal(few, ids[:, :3])
    np.testing.assert_allclose(kept, probabilities[:, :3] / probabilities[:, :3].sum(-1, keepdims=True), rtol=1e-4)


def test_both_layouts_have_them_in_the_order_of_their_targets(
    tiny_bundle: Bundle, store: TokenStore, tmp_path: Path
) -> None:
    teacher = Teacher(tiny_bundle.model, "float32", CPU, 2)
    soft = soft_targets(tmp_path / "soft", store, 2, "it", lambda rows: teacher.read(store, rows))
    rows = np.array([2, 0, 3])
    expected = teacher.read(store, rows)
    for arrange in (to_tensors, pack):
        made = WithTeacher(arrange, soft)(assemble(store, rows), CPU)
        assert made.teacher is not None and made.real_targets.tolist() == [3, 8, 9, 3, 6, 3]
        np.testing.assert_array_equal(made.teacher.ids.numpy(), expected[0])
        np.testing.assert_allclose(made.teacher.probabilities.numpy(), expected[1], atol=1e-3)


def test_they_are_computed_once_and_go_on_after_a_stop(
    store: TokenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soft_module, "ROWS", 1)
    asked: list[int] = []

    def compute(rows: np.ndarray) -> Any:
        asked.extend(rows.tolist())
        lengths = [len(PAIRS[row][1]) + 1 for row in rows]
        return np.full((sum(lengths), 2), rows[0]), np.full((sum(lengths), 2), 0.5, np.float32)

    def stopped(rows: np.ndarray) -> Any:
        if rows[0] == 2:
            raise KeyboardInterrupt
        return compute(rows)

    folder = tmp_path / "soft"
    with pytest.raises(KeyboardInterrupt):
        soft_targets(folder, store, 2, "it", stopped)
    with (folder / "ids").open("ab") as file:
        file.write(b"half")  # of a row that the other file lacks
    done: list[int] = []
    soft = soft_targets(folder, store, 2, "it", compute, done.append)
    assert asked == [0, 1, 2, 3] and done == [2, 1, 1]
    assert soft.of(np.array([3, 1]))[0][:, 0].tolist() == [3, 3, 1, 1, 1, 1, 1]
    soft_targets(folder, store, 2, "it", compute)
    assert asked == [0, 1, 2, 3]
    (folder / "probabilities").write_bytes(b"\0" * (folder / "probabilities").stat().st_size)
    assert soft_targets(folder, store, 2, "it", compute).of(np.array([0]))[1][0].tolist() == [0.5, 0.5]
    soft_targets(folder, store, 2, "another", compute)
    assert asked == 3 * [0, 1, 2, 3]


def test_another_vocabulary_is_refused(tiny_bundle: Bundle, store: TokenStore, tmp_path: Path) -> None:
    write_bundle(tmp_path / "teacher", tiny_bundle)
    settings = DistillationSettings(teachers=(str(tmp_path / "teacher"),))
    others = train_pair(["x y z"], ["x y z"], TextSettings(vocabulary_size=300))
    with pytest.raises(ConfigError, match="the vocabulary of the teacher is not that of this training"):
        teacher_targets(settings, store, tmp_path, others, "float32", CPU, print)
    assert teacher_targets(DistillationSettings(), store, tmp_path, others, "float32", CPU, print) is None
