"""A translator that has learnt nothing and ends about half of its translations."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from openwork.bundles.bundle import Bundle


@pytest.fixture
def teacher_folder(tiny_bundle: "Bundle", tmp_path: Path) -> Path:
    from copy import deepcopy

    import torch

    from openwork.base.symbols import SYMBOL_IDS
    from openwork.bundles.bundle import write_bundle

    model = deepcopy(tiny_bundle.model)
    with torch.no_grad():  # a vector that is always there, and is near that of the end symbol
        dict(model.named_parameters())["decoder.final_norm.bias"].fill_(0.5)
        model.output_weight[SYMBOL_IDS.end] += 0.75
    write_bundle(tmp_path / "teacher-bundle", replace(tiny_bundle, model=model, golden=()))
    return tmp_path / "teacher-bundle"
