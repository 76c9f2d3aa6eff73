"""openwork info: every row of table 3, and the modules and the cost of a preset."""

import json

import pytest
import torch

from calling import Call
from openwork.cost.cost import cost_of, weights_of
from openwork.inspection.modules import list_modules, module_lines
from openwork.models.build import build_model
from openwork.models.families import FAMILIES, model_settings
from openwork.models.interfaces import count_weights
from openwork.models.presets import PRESETS, ROWS, TRAININGS, VOCABULARY, Row
from openwork.study.paper.tables import NEARER

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} {row.preset}")
def test_the_rows_are_counted_as_the_model_is_built(row: Row) -> None:
    if row.training:
        return  # the base's model, trained otherwise
    settings = model_settings(PRESETS[row.preset])
    with torch.device("meta"):
        model = build_model(settings, NEARER, NEARER)
    assert cost_of(settings, NEARER).weights == count_weights(model)


def test_the_rows_are_those_that_the_paper_prints() -> None:
    """Vaswani et al. 2017, table 3, read from the page: perplexity, BLEU, millions of weights."""
    printed = """base 4.92 25.8 65
        A1 5.29 24.9 - heads=1
        A2 5.00 25.5 - heads=4
        A3 4.91 25.8 - heads=16
        A4 5.01 25.4 - heads=32
        B1 5.16 25.1 58 head_width=16
        B2 5.01 25.4 60 head_width=32
        C1 6.11 23.7 36 encoder_layers=2 decoder_layers=2
        C2 5.19 25.3 50 encoder_layers=4 decoder_layers=4
        C3 4.88 25.5 80 encoder_layers=8 decoder_layers=8
        C4 5.75 24.5 28 width=256 head_width=32 value_width=32
        C5 4.66 26.0 168 width=1024 head_width=128 value_width=128
        C6 5.12 25.4 53 feedforward_width=1024
        C7 4.75 26.2 90 feedforward_width=4096
        D1 5.77 24.6 - dropout=0.0
        D2 4.95 25.5 - dropout=0.2
        D3 4.67 25.3 - label_smoothing=0.0
        D4 5.47 25.7 - label_smoothing=0.2
        E 4.92 25.7 - positions=learned
        big 4.33 26.4 213 width=1024 feedforward_width=4096 heads=16 dropout=0.3"""
    shown = [
        " ".join(
            (
                row.name, f"{row.perplexity:.2f}", f"{row.bleu:.1f}", str(row.millions or "-"),
                *(f"{name}={value}" for name, value in (row.changes | row.training).items()),
            )
        )
        for row in ROWS
    ]  # fmt: skip
    assert shown == [line.strip() for line in printed.splitlines()]


def test_presets_and_defaults_have_the_sizes_that_they_had() -> None:
    """With a vocabulary of 8,000: who changes one changes it here too, since figures name them."""
    known = {
        "nano": 1_683_968, "tiny": 2_343_424, "small": 7_569_408, "gpt-small": 5_338_624, "llama-small": 5_212_416,
        "recurrent-small": 6_658_816, "rnn-small": 5_081_344, "lstm-small": 6_658_816, "gru-small": 6_132_992,
        "plain-small": 5_280_256, "luong-small": 6_068_736, "rnn-tagger": 2_089_024, "lstm-tagger": 3_344_192,
        "lstm-classifier": 3_409_984, "gru-classifier": 3_343_936, "elmo-small": 2_729_792, "ulmfit-small": 3_108_672,
        "convs2s-small": 7_833_600, "bytenet-small": 8_428_416, "wavenet-small": 7_698_688, "bert-base": 98_337_344,
        "bert-small": 7_460_928, "t5-small": 48_186_368, "t5-v1-1-small": 56_352_768, "vit-base": 97_504_832,
        "vit-small": 2_717_504, "whisper-tiny": 29_468_928, "whisper-small": 4_998_272, "cnn-small": 8_432_676,
        "captioner-small": 2_843_648,
    }  # fmt: skip
    of_the_paper = {row.preset for row in ROWS}
    found = {name: weights_of(model_settings(PRESETS[name]), 8000) for name in PRESETS if name not in of_the_paper}
    assert found == known
    defaults = {family.model_fields["kind"].default: weights_of(family(), 8000) for family in FAMILIES}
    assert defaults == {
        "transformer": 48_197_632, "recurrent": 18_429_440, "recurrent-labels": 16_498_496, "recurrent-lm": 12_508_992,
        "encoder": 46_266_688, "decoder": 41_900_032, "convs2s": 87_912_448, "bytenet": 310_344_000,
        "wavenet": 51_893_248, "vit": 46_005_056, "whisper": 46_572_544, "cnn": 7_033_344,
        "captioner": 52_294_144,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["paper-base", "table3-e-learned", "recurrent-small"])
def test_the_modules_add_up_to_the_model(name: str) -> None:
    with torch.device("meta"):
        model = build_model(model_settings(PRESETS[name]), 100, 100)
    modules = list_modules(model)
    assert sum(module.weights for module in modules) == count_weights(model)
    assert all(len(line) == len(line.rstrip()) for line in module_lines(modules))


def test_alike_layers_are_one_line_and_shared_weights_are_named() -> None:
    with torch.device("meta"):
        model = build_model(model_settings(PRESETS["paper-base"]), 37_000, 37_000)
    modules = {module.name: module for module in list_modules(model)}
    query = modules["encoder.layers.0-5.self_attention.query"]
    assert (query.shapes, query.copies, query.weights) == (((512, 512),), 6, 6 * 512 * 512)
    norm = modules["decoder.layers.0-5.cross_wiring.norm"]
    assert norm.shapes == ((512,), (512,))
    assert modules["output"].also == ("source_embedding.table", "target_embedding.table")


def test_a_projected_residual_is_shown_with_its_131072_weights() -> None:
    settings = model_settings({"embedding_width": 256})
    with torch.device("meta"):
        modules = list_modules(build_model(settings, 100, 100))
    shown = [line for line in module_lines(modules) if "wiring.projection" in line]
    assert len(shown) == 2 and all("512 x 256" in line and "131,072" in line for line in shown)


@pytest.mark.parametrize("name", ["paper-base", "paper-big", "table3-c-n2", "recurrent-small"])
def test_a_preset_is_told_with_its_cost(call: Call, name: str) -> None:
    told = call("info", name)
    text = told.out.decode()
    assert told.code == 0 and "modules, with the shapes of their weights:" in text
    assert "million forward" in text and "backward twice the forward" in text and "MiB" in text
    assert ("the paper states" in text) is (name in TRAININGS)
    values = json.loads(call("info", name, "--json").out)
    cost = cost_of(model_settings(PRESETS[name]), VOCABULARY)
    assert values["weights"] == cost.weights == sum(module["weights"] for module in values["modules"])
    assert values["cost"]["forward_flops_per_target_token"] == cost.forward_flops
    assert values["cost"]["memory_bytes"]["weights"] == 4 * cost.weights


def test_the_presets_are_listed_without_the_rows(call: Call) -> None:
    listed = call("info").out.decode()
    assert "paper-base" in listed and "nano" in listed and "table3-" not in listed and "paper table 3" in listed
    assert "table3-a-h1" in json.loads(call("info", "--json").out)["weights"]


def test_a_preset_that_there_is_not_is_refused(call: Call) -> None:
    refused = call("info", "table3-a-h2")
    assert refused.code == 2 and "did you mean table3-a-h" in refused.err
