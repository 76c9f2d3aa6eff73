"""openwork explain: the trace of a bundle's own translation, and worked examples."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from decoding.rescoring import score
from journeys.command import ERROR, Finished
from openwork.base.errors import UsageError
from openwork.base.messages import LANGUAGE_VARIABLE
from openwork.base.phrases import shown_width
from openwork.bundles.bundle import Bundle, write_bundle
from openwork.bundles.settings import BundleSettings
from openwork.inference.explain import LIKELY, explain
from openwork.inference.translator import BatchTranslator
from openwork.inspection.trace import Selection, Trace
from openwork.inspection.tracing import exact_copy
from openwork.models.build import build_model
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.study.documents import EXAMPLES

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
TEXT = "a b c"


@pytest.fixture(scope="session")
def trace(tiny_bundle: Bundle) -> Trace:
    return explain(tiny_bundle, TEXT, Selection())


def test_the_trace_ends_in_the_translation_and_its_score(tiny_bundle: Bundle, trace: Trace):
    said = BatchTranslator.of(tiny_bundle).translate([TEXT])[0][0]
    tokenizer = tiny_bundle.tokenizers.target
    output = [*said.pieces, *[tokenizer.end_id] * said.finished]
    assert trace.step("chosen").value.tolist() == output
    assert trace.step("target.ids").value.tolist() == [tokenizer.start_id, *output[:-1]]
    total = float(trace.step("log_probability").value)
    assert total == pytest.approx(said.log_probability, abs=1e-4)
    # another way, in the same precision: the re-scoring of the same copy
    source = trace.step("source.ids").value.tolist()
    assert source == [*tiny_bundle.tokenizers.source.encode(TEXT), tokenizer.end_id]
    model = exact_copy(tiny_bundle.model)
    again = score(model, torch.tensor([source]), torch.tensor([len(source)]), [said.pieces], ended=said.finished)
    assert total == pytest.approx(float(again), abs=1e-12)


def test_probabilities_follow_from_the_logits(tiny_bundle: Bundle, trace: Trace):
    logits, probabilities = trace.step("logits").value.copy(), trace.step("probabilities").value
    assert logits.dtype == probabilities.dtype == np.float64
    logits[:, :3] = -np.inf  # padding, unknown, start
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    np.testing.assert_allclose(probabilities, powers / powers.sum(-1, keepdims=True), atol=1e-14)
    chosen = trace.step("chosen").value
    own = probabilities[np.arange(len(chosen)), chosen]
    np.testing.assert_allclose(np.log(own), trace.step("log_probabilities").value, atol=1e-12)
    likely = trace.step("likeliest")
    names = list(likely.labels["piece"])
    piece = tiny_bundle.tokenizers.target.piece
    for row, (values, number) in enumerate(zip(probabilities, chosen, strict=True)):
        for best in (*np.argsort(-values)[:LIKELY], number):
            assert likely.value[row, names.index(piece(int(best)))] == values[best]
    assert likely.labels["position"][-1].endswith(f"→{piece(int(chosen[-1]))}")


def test_the_bundle_is_as_before(tiny_bundle: Bundle):
    before = BatchTranslator.of(tiny_bundle).best([TEXT, "d e"])
    explain(tiny_bundle, TEXT, Selection(every=True))
    assert BatchTranslator.of(tiny_bundle).best([TEXT, "d e"]) == before
    assert {value.dtype for value in tiny_bundle.model.parameters()} == {torch.float32}


def test_the_command(call: Call, bundle_folder: Path, tmp_path: Path, trace: Trace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv(LANGUAGE_VARIABLE, "en")  # and back to what it was, whatever --lang leaves behind
    plain = call("explain", TEXT, "--bundle", bundle_folder)
    assert plain.code == 0 and plain.err == ""
    assert max(map(shown_width, plain.out.decode().splitlines())) <= 70
    as_json = call("explain", TEXT, "--bundle", bundle_folder, "--json")
    assert json.loads(as_json.out) == trace.to_json()
    head = call("explain", TEXT, "--bundle", bundle_folder, "--layer", "0", "--head", "1", "--json")
    shown = {step["name"]: step for step in json.loads(head.out)["steps"]}
    assert shown["encoder.layers.0.self_attention.scores"]["labels"]["head"] == ["1"]
    chinese = call("explain", TEXT, "--bundle", bundle_folder, "--html", tmp_path / "trace.html", "--lang", "zh")
    assert chinese.code == 0 and chinese.out == b"" and "已写入" in chinese.err
    html = (tmp_path / "trace.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in html and "每行之和为 1" in html and "Attention weights" in html


def refused(result: Finished, code: int, *said: str) -> None:
    assert result.code == code and result.out == b""
    assert ERROR.match(result.err) and "Traceback" not in result.err
    assert all(words in result.err for words in said), result.err


def test_what_cannot_be_explained(call: Call, bundle_folder: Path, tmp_path: Path):
    given = ("--bundle", bundle_folder)
    refused(call("explain", "a", "--bundle", tmp_path / "none"), 4, str(tmp_path / "none"))
    refused(call("explain", " \n", *given), 2, "no sentence to explain")
    refused(call("explain", "a", *given, "--layer", "1"), 2, "there is no layer 1", "the last one is 0")
    refused(call("explain", "a", *given, "--head", "2"), 2, "there is no head 2", "the last one is 1")
    refused(call("explain", "a " * 2000, *given), 2, "too long")
    refused(call("explain"), 2, "a sentence, --example, --list")
    refused(call("explain", "a"), 2, "go together")
    refused(call("explain", "a", *given, "--list"), 2, "one of these")
    refused(call("explain", "--example", "x", "--layer", "0"), 2, "for a sentence")


def test_a_recurrent_model_is_refused_in_a_sentence(tiny_bundle: Bundle, call: Call, tmp_path: Path):
    settings = RecurrentSettings(width=8)
    size = tiny_bundle.tokenizers.source.vocabulary_size
    bundle = Bundle(BundleSettings(model=settings), tiny_bundle.tokenizers, build_model(settings, size, size))
    with pytest.raises(UsageError, match="only a Transformer"):
        explain(bundle, TEXT, Selection())
    write_bundle(tmp_path / "recurrent", bundle)
    refused(call("explain", TEXT, "--bundle", tmp_path / "recurrent"), 2, "only a Transformer", "recurrent")


@pytest.mark.parametrize("changes", [{"attention": "relu"}, {"feedforward": "convolution"}])
def test_options_without_steps_are_refused_in_a_sentence(tiny_bundle: Bundle, changes: dict[str, str]):
    settings = tiny_bundle.settings.model.model_copy(update=changes)
    size = tiny_bundle.tokenizers.source.vocabulary_size
    bundle = Bundle(BundleSettings(model=settings), tiny_bundle.tokenizers, build_model(settings, size, size))
    with pytest.raises(UsageError, match="of these options cannot be explained"):
        explain(bundle, TEXT, Selection())


@pytest.mark.parametrize(
    "changes",
    [{"attention_pattern": "low-rank", "positions": "learned"}, {"feedforward_rank": 2}, {"layer_sharing": True}],
)
def test_layers_without_steps_are_refused_in_a_sentence(tiny_bundle: Bundle, changes: dict[str, Any]):
    settings = tiny_bundle.settings.model.model_copy(update=changes)
    size = tiny_bundle.tokenizers.source.vocabulary_size
    bundle = Bundle(BundleSettings(model=settings), tiny_bundle.tokenizers, build_model(settings, size, size))
    with pytest.raises(UsageError, match="of these layers cannot be explained") as refused:
        explain(bundle, TEXT, Selection())
    assert f"model.{next(iter(changes))}" in refused.value.why


def test_worked_examples(call: Call):
    assert [line.split()[0] for line in call("explain", "--list").lines] == list(EXAMPLES)
    made = EXAMPLES["002-5.2"]()
    shown = call("explain", "--example", "002-5.2")
    assert shown.code == 0 and "equation: softmax(S + mask)" in shown.out.decode()
    assert json.loads(call("explain", "--example", "002-5.2", "--json").out) == made.to_json()
    refused(call("explain", "--example", "002-52"), 2, "there is no example 002-52", "did you mean 002-5.2?")
