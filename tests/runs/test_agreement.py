"""What the processes of a training agree on before the first update."""

from pathlib import Path
from typing import Any

import pytest
import torch

from distributed.scripted import Scripted
from openwork import __version__
from openwork.base.config import build
from openwork.base.errors import ConfigError, DataError
from openwork.data.batching import BatchPlan, BatchSettings
from openwork.machine.processes import ALONE
from openwork.runs.agreement import check_alike, settings_of_first, shared_corpus
from openwork.runs.assembly import _check_shares
from openwork.runs.file.settings import RunSettings
from openwork.runs.folder import RunFolder
from training.tiny import make_store

SETTINGS = build(RunSettings, {"data": {"corpus": "copy"}})
VERSIONS = {"openwork": __version__, "torch": torch.__version__}


def said(settings: RunSettings, **versions: str) -> dict[str, Any]:
    return {"settings": settings.model_dump(mode="json", exclude_none=True), "versions": {**VERSIONS, **versions}}


def other(**changes: Any) -> RunSettings:
    return SETTINGS.model_copy(update={"training": SETTINGS.training.model_copy(update=changes)})


def test_the_same_settings_are_agreed_on() -> None:
    check_alike(SETTINGS, ALONE)
    check_alike(SETTINGS, Scripted(heard=[said(SETTINGS)] * 2))


def test_another_run_file_is_named_with_the_keys() -> None:
    heard = [said(SETTINGS), said(SETTINGS), said(other(steps=7))]
    with pytest.raises(ConfigError, match=r"process 2 of 3 has another run file: training.steps: 100000 -> 7") as error:
        check_alike(SETTINGS, Scripted(count=3, heard=heard))
    assert error.value.code == "C109"


def test_other_versions_are_named() -> None:
    with pytest.raises(ConfigError, match=r"process 1 of 2 has other versions: .* and torch 1.0") as error:
        check_alike(SETTINGS, Scripted(heard=[said(SETTINGS), said(SETTINGS, torch="1.0")]))
    assert error.value.code == "C108"


def test_the_first_decides() -> None:
    assert settings_of_first(SETTINGS, ALONE) is SETTINGS
    assert settings_of_first(other(steps=9), Scripted(rank=0)).training.steps == 9


def test_a_process_that_does_not_see_the_data_is_named(tmp_path: Path) -> None:
    class Second(Scripted):
        def from_first(self, value: Any) -> Any:
            return {"valid_pairs": [["a", "b"]], "examples": [], "mixture": None}

    with pytest.raises(DataError, match="process 1 of 2 does not see the data that process 0 has prepared") as error:
        shared_corpus(SETTINGS, RunFolder(tmp_path), lambda line: None, Second(rank=1))
    assert error.value.code == "D126" and str(tmp_path) in error.value.what


def test_batches_need_a_sentence_for_most_processes(tmp_path: Path) -> None:
    plan = BatchPlan.of(make_store(tmp_path / "store"), BatchSettings(tokens=20), 1)
    _check_shares(plan, Scripted(count=2))
    with pytest.raises(ConfigError, match="sentences on average cannot be shared by 64 processes") as error:
        _check_shares(plan, Scripted(count=64))
    assert error.value.code == "C112"
