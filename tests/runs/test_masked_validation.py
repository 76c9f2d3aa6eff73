"""What is said of a model that restores masked pieces: always over the same masks, and of the masked pieces alone."""

from pathlib import Path

import numpy as np
import pytest
import torch

from openwork.base.config import Layer
from openwork.base.errors import ConfigError
from openwork.bundles.bundle import Bundle
from openwork.data.batching import assemble
from openwork.data.pairs import encoded_pairs
from openwork.data.records import Pair
from openwork.data.store import write_store
from openwork.decoding.settings import DecodingSettings
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model
from openwork.models.settings import EncoderSettings
from openwork.runs.file.resolve import resolve_run
from openwork.runs.validation import MaskedScoring, Validator
from openwork.training.computing.choice import validation_arrangement
from openwork.training.settings import TrainingSettings

TEXTS = ["a b c d e f g h", "d e", "b a", "h g f e d c b a h g f e d c b a"]


def validator(bundle: Bundle, folder: Path, seed: int) -> Validator:
    pairs = [Pair(text, text) for text in TEXTS]
    size = bundle.tokenizers.source.vocabulary_size
    store = write_store(folder / f"{seed}", encoded_pairs(iter(pairs), bundle.tokenizers), vocabulary_size=size)
    torch.manual_seed(1)
    model = build_model(EncoderSettings(task="fill", width=16, heads=2, feedforward_width=16, layers=1), size, size)
    same = validation_arrangement(TrainingSettings(seed=seed), model)
    translator = BatchTranslator(model, bundle.tokenizers, DecodingSettings(beam=1))
    scoring = MaskedScoring(model, bundle.tokenizers.source, store, same, "float32")
    return Validator(model, translator, store, pairs, "float32", scoring, same)


def test_what_is_masked_follows_neither_seed_nor_time(tiny_bundle: Bundle, tmp_path: Path) -> None:
    first, second = validator(tiny_bundle, tmp_path, 1), validator(tiny_bundle, tmp_path, 2)
    seen = [one.validate(step) for one, step in ((first, 1), (first, 1), (second, 1))]
    assert len({(one.loss, one.score, one.sample) for one in seen}) == 1


def test_the_score_is_the_share_of_masked_pieces_restored(tiny_bundle: Bundle, tmp_path: Path) -> None:
    looking = validator(tiny_bundle, tmp_path, 1)
    found = looking.validate(0)
    batch = looking.arrange(assemble(looking.store, np.arange(4)), torch.device("cpu"))
    with torch.no_grad():
        logits = looking.model.project(looking.model(batch.source, batch.source_lengths, batch.target_input))
    best = logits.argmax(dim=-1).flatten()[batch.real]
    assert found.score_name == "restored" and found.score is not None
    assert found.score == pytest.approx(100 * float((best == batch.real_targets).float().mean()))
    right = -logits.log_softmax(-1).flatten(0, 1)[batch.real].gather(1, batch.real_targets[:, None]).mean()
    assert found.loss == pytest.approx(float(right), rel=1e-5)
    source, reference, restored = found.sample or ("", "", "")
    assert source == reference and restored
    assert isinstance(looking.scoring, MaskedScoring)
    assert len(looking.scoring.hypotheses(TEXTS)) == len(TEXTS)
    with torch.no_grad():  # a model that always says the piece 9
        looking.model.get_parameter("bias")[9] = 1e4
    looking.scoring.hypotheses(TEXTS)
    assert looking.scoring.restored.value == pytest.approx(float((batch.real_targets == 9).float().mean()))


def test_vectors_of_texts_are_not_trained() -> None:
    wanted = {"data": {"corpus": "copy"}, "model": {"kind": "encoder", "task": "embed"}}
    with pytest.raises(ConfigError, match="nothing to learn") as refused:
        resolve_run(Layer(wanted))
    assert "fill" in refused.value.hint
