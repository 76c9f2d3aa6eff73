"""Graphs of ONNX with the search in them: what onnxruntime finds is what `decode` finds."""

import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from calling import Call
from interop.small_bundles import TEXTS, random_bundle, small_bundle, tokenizers
from openwork.base.errors import BundleError, ConfigError, UsageError
from openwork.base.symbols import SYMBOL_IDS
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inference.golden import make_golden
from openwork.interop.forms import export_model
from openwork.interop.onnx.running import TOLERANCE, Graph, differences, padded
from openwork.interop.onnx.search import SearchStart, SearchStep
from openwork.interop.onnx.writing import graph_search, write_onnx
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.weights import model_weights

SOURCES = [[*tokenizers().source.encode(text), SYMBOL_IDS.end] for text in TEXTS] + [[SYMBOL_IDS.end], [9, 8, 7, 3]]

ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}  # where layers are not the question: a layer takes a second


def ending(**changes: Any) -> Bundle:
    """A small bundle of whose hypotheses some end, and others are stopped."""
    bundle = small_bundle(**{**changes, "output_bias": True})
    with torch.no_grad():
        bundle.model.bias[SYMBOL_IDS.end] = 2.5  # type: ignore[index]
    return bundle


def searching(bundle: Bundle, **changes: Any) -> Bundle:
    """The bundle with another search."""
    decoding = DecodingSettings(**{"beam": 3, "maximum_length": 12, **changes})
    return Bundle(bundle.settings.model_copy(update={"decoding": decoding}), bundle.tokenizers, bundle.model)


def expected(bundle: Bundle, sources: list[list[int]]) -> list[list[Hypothesis]]:
    return decode(bundle.model, *padded(sources), graph_search(bundle.settings.decoding, bundle.model.maximum_length))


def check(found: list[list[tuple[tuple[int, ...], float]]], right: list[list[Hypothesis]]) -> None:
    assert [[tokens for tokens, _ in row] for row in found] == [[one.tokens for one in row] for row in right]
    for row, hypotheses in zip(found, right, strict=True):
        assert [score for _, score in row] == pytest.approx([one.score for one in hypotheses], abs=TOLERANCE)


def by_torch(bundle: Bundle, sources: list[list[int]]) -> list[list[tuple[tuple[int, ...], float]]]:
    """What the modules find that graphs are made of."""
    settings = graph_search(bundle.settings.decoding, bundle.model.maximum_length)
    start, step = SearchStart(bundle.model, settings), SearchStep(bundle.model, settings)  # type: ignore[arg-type]
    with torch.no_grad():
        goes_on, carried, constant = start(*padded(sources))
        while goes_on:
            goes_on, carried = step(carried, constant)
    rows = zip(carried.found.tokens[:, : settings.best].tolist(), carried.found.scores.tolist(), strict=True)
    return [
        [(tuple(filter(None, tokens)), score) for tokens, score in zip(targets, scores, strict=False) if score > -1e30]
        for targets, scores in rows
    ]


SEARCHES: list[dict[str, Any]] = [
    {"beam": beam, "best": min(beam, best), "length_penalty": penalty, "stopping": stopping, "unfinished": unfinished}
    for beam, best, penalty, stopping, unfinished in product(
        (1, 2, 5), (1, 3), (0.0, 1.4), ("enough", "no-better"), ("last", "ranked")
    )
]


@pytest.mark.parametrize(
    "changes",
    [*SEARCHES, {"length_rule": "power"}, {"patience": 2.0, "best": 3}, {"extra_length": 0}, {"maximum_length": 1}],
    ids=str,
)
def test_the_search_without_branches_is_the_search(changes: dict[str, Any]) -> None:
    bundle = searching(ending(), **changes)
    check(by_torch(bundle, SOURCES), expected(bundle, SOURCES))


def test_no_target_is_longer_than_the_models_positions() -> None:
    bundle = searching(small_bundle(positions="learned", maximum_length=20), maximum_length=30)
    settings = graph_search(bundle.settings.decoding, bundle.model.maximum_length)
    assert settings.maximum_length == 20 and settings.beam == 3
    check(by_torch(bundle, SOURCES), expected(bundle, SOURCES))


def test_some_of_these_searches_end_by_themselves_and_some_are_stopped() -> None:
    """Else the test above would see half of what it is for."""
    for beam in (1, 5):
        found = expected(searching(ending(), beam=beam), SOURCES)
        assert {one.finished for row in found for one in row} == {False, True}, beam


def exported(bundle: Bundle, folder: Path) -> Graph:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    write_onnx(folder / "graph", bundle)
    return Graph(folder / "graph", threads=1)


# A beam of one is also that of the graph in eight bits below, a beam of several that of the command.
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("beam", [1, 4])
def test_a_graph_finds_what_the_bundle_finds(beam: int, tmp_path: Path) -> None:
    """Whatever the batch and its lengths; after a change of one weight it does not."""
    bundle = searching(ending(), beam=beam, best=min(beam, 2), length_penalty=1.0)
    graph = exported(bundle, tmp_path)
    right = expected(bundle, SOURCES)
    check(graph.search(SOURCES), right)
    check([graph.search([source])[0] for source in SOURCES], right)
    check(graph.search(SOURCES[::-1] * 3), right[::-1] * 3)
    long = [[7, 8, 9, 10] * 20 + [SYMBOL_IDS.end]]
    check(graph.search(long), expected(bundle, long))
    assert differences(bundle, graph, TEXTS) == 0 and differences(bundle, graph, []) == 0
    with torch.no_grad():
        bundle.model.bias[SYMBOL_IDS.end] -= 1.0  # type: ignore[index]
    assert differences(bundle, graph, TEXTS) > len(TEXTS) // 2


@pytest.mark.slow
def test_a_bundle_in_eight_bits_is_a_smaller_graph(tmp_path: Path) -> None:
    wide = ending(width=96, feedforward_width=192, **ONE_LAYER)
    write_bundle(tmp_path / "bundle", wide, "int8")
    rounded = searching(load_bundle(tmp_path / "bundle"), beam=1)
    graph = exported(rounded, tmp_path)
    check(graph.search(SOURCES), expected(rounded, SOURCES))
    content = (tmp_path / "graph" / "model.onnx").read_bytes()
    weights = sum(weight.numel() for weight in model_weights(wide.model).values())
    positions = 4 * 96 * 1024  # a table of sinusoids, which no bundle keeps
    assert 1.0 < (len(content) - positions) / weights < 2.0  # bytes; the nodes of a small graph count as well
    assert str(Path.cwd()).encode() not in content


PARTS: list[dict[str, Any]] = [
    {"norm": "post", "attention_bias": True}, {"positions": "learned", "maximum_length": 40, "embedding_norm": True},
    {"positions": "rotary", "key_value_heads": 1}, {"positions": "relative", "value_width": 4}, {"positions": "alibi"},
    {"positions": "bucketed"}, {"positions": "none", "layer_sharing": True}, {"feedforward": "swiglu"},
    {"feedforward": "gelu", "feedforward_rank": 4}, {"normalisation": "rms"}, {"normalisation": "batch"},
    {"attention": "relu"}, {"attention": "additive"}, {"attention_pattern": "window"}, {"attention_chunk": 64},
    {"attention_pattern": "blocks"}, {"embedding_width": 6},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("changes", PARTS, ids=str)
def test_a_graph_of_every_part(changes: dict[str, Any], tmp_path: Path) -> None:
    bundle = searching(ending(**changes))
    check(exported(bundle, tmp_path).search(SOURCES), expected(bundle, SOURCES))


@pytest.mark.slow
def test_the_command_tries_the_golden_examples(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two vocabularies, weights in a file of their own, and a beam that is not the bundle's."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    monkeypatch.setattr("openwork.interop.onnx.writing.LARGEST", 100)
    write_bundle(tmp_path / "bundle", make_golden(small_bundle(shared=False, **ONE_LAYER), TEXTS[:4]))
    result = call("export", tmp_path / "bundle", "--to", "onnx", "--beam", "3", "--out", tmp_path / "out")
    assert result.code == 0 and "onnxruntime: 4 of 4 golden examples as by openwork" in result.err
    names = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    sides = {f"{side}/{name}" for side in ("source", "target") for name in ("tokenizer.json", "tokenizer_config.json")}
    assert names == {"model.onnx", "model.onnx.data", "config.json", "card.md", "openwork-export.json"} | sides
    assert '"beam": 3' in (tmp_path / "out" / "config.json").read_text()


def test_a_graph_that_cannot_be_tried_says_so(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle(tmp_path / "bundle", small_bundle())
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr("openwork.interop.forms.EXPORTS", {"onnx": lambda folder, bundle: None})
    result = call("export", tmp_path / "bundle", "--to", "onnx", "--out", tmp_path / "out")
    assert result.code == 0 and "the package onnxruntime is not installed" in result.err


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"attention": "linear"}, "no graph is made of models with model.attention = linear"),
        (
            {"attention_pattern": "low-rank", "positions": "learned", "maximum_length": 16},
            "model.attention_pattern = low-rank",
        ),
    ],
    ids=str,
)
def test_models_without_a_graph_are_refused(changes: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no graph of this model can be made") as refused:
        write_onnx(tmp_path / "out", small_bundle(**changes))
    assert why in refused.value.why and not (tmp_path / "out").exists()


def test_recurrent_models_are_refused(tmp_path: Path) -> None:
    settings = RecurrentSettings(width=8, encoder_layers=1, decoder_layers=1)
    bundle = random_bundle(settings, tokenizers(), DecodingSettings())
    with pytest.raises(BundleError) as refused:
        write_onnx(tmp_path / "out", bundle)
    assert "Transformers with encoder and decoder" in refused.value.why


@pytest.mark.parametrize("changes", [{"no_repeat": 3}, {"samples": 2}, {"required": ("a",)}, {"coverage_penalty": 0.2}])
def test_searches_that_no_graph_has_are_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"no decoding.{next(iter(changes))}"):
        write_onnx(tmp_path / "out", searching(small_bundle(), **changes))


def test_without_the_packages_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(UsageError, match="which are not installed"):
        write_onnx(tmp_path / "out", small_bundle())


def test_a_beam_goes_with_the_other_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_bundle(tmp_path / "bundle", searching(small_bundle(), beam=4, best=2))
    kept: list[DecodingSettings] = []
    writers = {"onnx": lambda folder, bundle: kept.append(bundle.settings.decoding)}
    monkeypatch.setattr("openwork.interop.forms.EXPORTS", writers)
    for beam in (None, 1, 6):
        export_model("onnx", tmp_path / "bundle", tmp_path / "out", beam=beam)
    assert [(one.beam, one.best) for one in kept] == [(4, 2), (1, 1), (6, 1)]
