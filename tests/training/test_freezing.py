"""Which weights a pattern names."""

import pytest

from openwork.base.errors import ConfigError
from openwork.models.build import build_model
from openwork.training.trained_weights import freeze
from training.tiny import MODEL, RECURRENT, VOCABULARY


def frozen(*patterns: str, family=MODEL) -> set[str]:
    model = build_model(family, VOCABULARY, VOCABULARY)
    count = freeze(model, patterns)
    names = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert count == sum(weight.numel() for weight in model.parameters() if not weight.requires_grad)
    return names


def test_a_part_is_all_that_is_within() -> None:
    whole = {name for name, _ in build_model(MODEL, VOCABULARY, VOCABULARY).named_parameters()}
    assert frozen() == set()
    assert frozen("encoder") == {name for name in whole if name.startswith("encoder.")} != set()
    assert frozen("decoder.layers.0") == {name for name in whole if name.startswith("decoder.layers.0.")}
    assert frozen("*.bias") == {name for name in whole if name.endswith(".bias")}
    assert frozen("encoder", "*.bias") == frozen("encoder") | frozen("*.bias")


def test_a_shared_matrix_has_many_names() -> None:
    assert frozen("target_embedding") == frozen("source_embedding") == frozen("output") != set()


def test_the_recurrent_model_has_parts_too() -> None:
    assert frozen("encoder", family=RECURRENT)


def test_patterns_that_name_nothing_are_refused_with_the_parts() -> None:
    with pytest.raises(ConfigError, match="'encode' names no weight") as refused:
        frozen("encode")
    assert "encoder, decoder" in refused.value.hint
    with pytest.raises(ConfigError, match="every weight is frozen"):
        frozen("*")
