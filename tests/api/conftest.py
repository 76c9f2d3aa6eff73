"""Tiny models of each task, which have learnt nothing, as a person loads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import openwork
from openwork.base.tasks import Task
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings, tokenizers_for_task
from openwork.models.build import build_model
from openwork.models.label_model import LabelModel
from openwork.models.settings import DecoderSettings, EncoderSettings
from openwork.text.forms import word_starts
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS
from openwork.text.pieces.words import Labels, WordNumbers

SIZES: dict[str, Any] = {"width": 8, "heads": 2, "feedforward_width": 8, "layers": 1}


def _bundle(task: Task) -> Bundle:
    words = KINDS["words"].learn(["a b c d e"] * 3, 400)
    targets: Any = {
        "classify": Labels.of(["yes", "no"]),
        "tag": Labels.of(["O", "B"]),
        "answer": WordNumbers.learn((), 8),
    }
    tokenizers = tokenizers_for_task(TokenizerPair(words, targets.get(task, words)), task)
    settings = DecoderSettings(**SIZES) if task == "language-model" else EncoderSettings(task=task, **SIZES)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = build_model(settings, tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size)
    if isinstance(model, LabelModel):
        model.set_word_starts(torch.tensor(word_starts(tokenizers.source)))
    return Bundle(BundleSettings(model=settings), tokenizers, model.eval())


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Task], openwork.TrainedModel]:
    """`trained(task)` loads a model of that task."""
    folder = tmp_path_factory.mktemp("trained")

    def load(task: Task) -> openwork.TrainedModel:
        path = folder / task
        if not path.is_dir():
            write_bundle(path, _bundle(task))
        return openwork.load(path)

    return load


@pytest.fixture(scope="session")
def en_de(tiny_bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny translator."""
    folder = tmp_path_factory.mktemp("translator") / "en-de"
    write_bundle(folder, tiny_bundle)
    return folder
