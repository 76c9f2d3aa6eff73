"""Sources that are numbers, in a store and in batches."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from openwork.base.errors import DataError
from openwork.base.sources import NumberForm
from openwork.data.batching import assemble
from openwork.data.store import TokenStore, write_store
from openwork.inference.batches import NumberBatches
from openwork.training.batches.batch import to_tensors

FORM = NumberForm(4, "|u1", (0.5, 2.0), (0.0, -1.0))
SOURCES = [np.arange(4 * count, dtype=np.uint8).reshape(count, 4) for count in (3, 1, 2)]
TARGETS = [[4], [5], [6]]


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    return write_store(tmp_path / "store", zip(SOURCES, TARGETS, strict=True), vocabulary_size=9, form=FORM)


def test_what_is_written_is_read(store: TokenStore) -> None:
    again = TokenStore.open(store.folder)
    again.verify()
    assert again.source.form == FORM and again.source.lengths.tolist() == [3, 1, 2] and len(again) == 3
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        found = again.pair(number)
        assert np.array_equal(found[0], source) and found[0].dtype == np.uint8 and found[1].tolist() == target


def test_a_batch_has_scaled_numbers_and_no_end(store: TokenStore) -> None:
    batch = assemble(store, np.array([2, 0]))
    assert batch.source.dtype == np.float32 and batch.source.shape == (2, 3, 4)
    assert batch.source_lengths.tolist() == [2, 3] and batch.target_lengths.tolist() == [2, 2]
    assert batch.source[0].tolist() == [[0.0, 0.5, 3.0, 5.0], [2.0, 2.5, 11.0, 13.0], [0.0] * 4]
    assert batch.target_output.tolist() == [[6, 3], [4, 3]]


def test_training_and_inference_pad_alike(store: TokenStore) -> None:
    trained = to_tensors(assemble(store, np.arange(3)), torch.device("cpu"))
    source, lengths = NumberBatches(FORM).padded(SOURCES, torch.device("cpu"))
    assert torch.equal(trained.source, source) and torch.equal(trained.source_lengths, lengths)
    parts = trained.parts(2)
    assert [part.source.shape for part in parts] == [(2, 3, 4), (1, 1, 4)]


@pytest.mark.parametrize("changes", [{"features": 3}, {"features": 0}, {"dtype": "|O"}, {"scale": []}, None])
def test_a_damaged_form_is_refused(store: TokenStore, changes: dict[str, Any] | None) -> None:
    path = store.folder / "header.json"
    header = json.loads(path.read_text())
    header["numbers"] = None if changes is None else {**header["numbers"], **changes}
    path.write_text(json.dumps(header))
    with pytest.raises(DataError) as refused:
        TokenStore.open(store.folder)
    assert refused.value.code == "D060"


def test_numbers_of_another_form_are_a_mistake_of_ours(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="form"):
        write_store(tmp_path / "store", [(np.zeros((2, 4)), [4])], vocabulary_size=9, form=FORM)
