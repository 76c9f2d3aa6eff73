"""The observer for TensorBoard: what it writes is read back; without the library there is one sentence."""

import importlib.util
from pathlib import Path

import pytest

from openwork.base.errors import ConfigError
from openwork.data.store import TokenStore
from openwork.training.observers.control import ValidationObserver
from openwork.training.observers.records import TensorBoardObserver
from openwork.training.progress import Progress
from training.tiny import SETTINGS, make_store, make_training, validation


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    return make_store(tmp_path_factory.mktemp("corpus") / "store")


@pytest.mark.slow
def test_curves_are_written_and_a_resumed_run_goes_on(tmp_path: Path, store: TokenStore) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = tmp_path / "tensorboard"
    training, progress = make_training(store), Progress()
    judge = ValidationObserver(lambda step: validation(step, 1.5, bleu=12.5, sample=("a", "*b*", "c")))
    for steps in (4, 8):  # the second is a process that continues
        settings = SETTINGS.model_copy(update={"steps": steps})
        training.go(settings, progress, [judge, TensorBoardObserver(folder)])
    events = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in events.Scalars("training/loss")] == [1, 2, 4, 6, 8]
    rates = {event.step: event.value for event in events.Scalars("training/learning_rate")}
    assert rates[4] == pytest.approx(0.01) and rates[2] == pytest.approx(0.005)
    assert [(event.step, event.value) for event in events.Scalars("validation/bleu")] == [(4, 12.5), (8, 12.5)]
    assert "validation/exact" not in events.Tags()["scalars"]  # it was not measured
    (sample, _) = events.Tensors("validation/sample/text_summary")
    assert b"*b*" in sample.tensor_proto.string_val[0]


def test_without_the_library_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="not installed") as refused:
        TensorBoardObserver(tmp_path)
    assert "pip install tensorboard" in refused.value.hint
