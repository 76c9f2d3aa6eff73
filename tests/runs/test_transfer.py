"""Going on with adapters, and with a model of another kind or task: whole trainings, resumed ones, what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from openwork.base.config import Layer
from openwork.base.errors import ConfigError
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.checks.check import Status
from openwork.checks.verify import verify
from openwork.data.corpora.synthetic import copy
from openwork.inference.golden import replay_golden
from openwork.inference.translator import BatchTranslator
from openwork.models.build import build_model
from openwork.models.settings import EncoderSettings
from openwork.models.weights import model_weights, read_tensors
from openwork.nn.normalisation import running_statistics
from openwork.runs.average import average_bundles
from openwork.runs.file.inheritance import inherit
from openwork.runs.file.resolve import resolve_run
from openwork.runs.train import train_bundle
from openwork.runs.tuning import Pretrained, load_matching
from openwork.text.pair import TokenizerPair
from runs.stopped import Leave
from runs.test_fine_tuning import TRAINING, tuned, weights_of

pytestmark = pytest.mark.slow

ADAPTERS: dict[str, object] = {"low_rank": 2, "low_rank_scale": 2.0}
# ---------------------------------------------------------------------------------------------------------- adapters


def test_adapters_alone_learn_and_the_bundle_is_merged(bundle_folder: Path, tmp_path: Path) -> None:
    said = tuned(bundle_folder, tmp_path / "out", fine_tuning=ADAPTERS)
    assert any(line.startswith("adapters of rank 2 on 6 layers: 384 weights learn") for line in said)
    before, after = weights_of(bundle_folder), weights_of(tmp_path / "out/bundle")
    assert before.keys() == after.keys()
    for name in before:
        adapted = name.endswith(("query.weight", "value.weight"))
        assert torch.equal(before[name], after[name]) is not adapted, name
        if adapted:
            assert torch.linalg.matrix_rank((after[name] - before[name]).double(), rtol=1e-4) <= 2
    checkpoint = sorted((tmp_path / "out/checkpoints").iterdir())[-1]
    kept = read_tensors(checkpoint / "weights.safetensors")
    state = read_tensors(checkpoint / "optimiser.safetensors")
    assert state and all(key.rpartition("/")[0].endswith((".down", ".up")) for key in state)
    name = "decoder.layers.0.cross_attention.query"
    assert torch.equal(kept[f"{name}.weight"], before[f"{name}.weight"])  # beside the adapter it is as it was
    assert BatchTranslator.of(load_bundle(tmp_path / "out")).translate(["a b"])


def test_resumed_with_adapters_is_as_undisturbed(bundle_folder: Path, tmp_path: Path) -> None:
    sections: dict[str, dict[str, object]] = {"fine_tuning": ADAPTERS, "training": {**TRAINING, "ema": 0.5}}
    tuned(bundle_folder, tmp_path / "whole", **sections)
    tuned(bundle_folder, tmp_path / "torn", (Leave(4),), **sections)
    said = tuned(bundle_folder, tmp_path / "torn", **sections)
    assert any("continuing after update 4" in line for line in said)
    ours, theirs = weights_of(tmp_path / "torn/bundle"), weights_of(tmp_path / "whole/bundle")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_checkpoints_with_adapters_are_averaged_as_plain_weights(bundle_folder: Path, tmp_path: Path) -> None:
    tuned(bundle_folder, tmp_path / "out", fine_tuning=ADAPTERS, training={**TRAINING, "average": 2})
    average_bundles([tmp_path / "out"], 2, tmp_path / "mean", lambda _: None)
    assert weights_of(tmp_path / "mean").keys() == weights_of(bundle_folder).keys()


def test_what_adapters_cannot_do_is_refused(bundle_folder: Path, tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({**ADAPTERS, "new_pieces": 5}, "the new pieces could not be learnt"),
        ({**ADAPTERS, "low_rank_parts": ["*.nothing"]}, "names no linear layer"),
        ({"low_rank": 8}, "adapter of rank 8"),
    ]
    for tuning, words in wrong:
        with pytest.raises(ConfigError, match=words):
            tuned(bundle_folder, tmp_path / "out", fine_tuning=tuning)


# ------------------------------------------------------------------------------------------------------ another model


@pytest.fixture
def labelled(tmp_path: Path) -> dict[str, Any]:
    """The run file's sections for one label a sentence: whether it has an even number of words."""
    pairs = list(copy("train", 80, seed=6))
    labels = [("odd", "even")[len(pair.source.split()) % 2 == 0] for pair in pairs]
    (tmp_path / "texts").write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    (tmp_path / "labels").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    return {
        "data": {"source": str(tmp_path / "texts"), "target": str(tmp_path / "labels"), "held_out": 10},
        "text": {"shared": False, "target_kind": "labels", "vocabulary_size": 300},
        "model": {"kind": "encoder", "task": "classify", "dropout": 0.0},
        "training": {**TRAINING, "metric": "score"},
    }


def test_an_encoder_of_translation_reads_for_a_classifier(
    bundle_folder: Path, tmp_path: Path, labelled: dict[str, Any]
) -> None:
    start = load_bundle(bundle_folder)
    tuning: dict[str, object] = {"frozen": ["encoder", "source_embedding"]}
    said = tuned(bundle_folder, tmp_path / "out", **labelled, fine_tuning=tuning)
    assert [line for line in said if line.startswith("loaded from it")] == [
        "loaded from it: source_embedding, encoder; fresh: output, bias, pooler"
    ]
    bundle = load_bundle(tmp_path / "out")
    settings = bundle.settings.model
    assert isinstance(settings, EncoderSettings)
    assert (settings.width, settings.heads, settings.layers, settings.norm) == (16, 2, 1, "pre")
    assert bundle.tokenizers.target.vocabulary_size == 6  # four symbols, two labels
    theirs, ours = weights_of(bundle_folder), weights_of(tmp_path / "out/bundle")
    shared = [name for name in ours if name.startswith("encoder.")]
    assert shared and all(torch.equal(ours[name], theirs[name]) for name in shared)
    assert torch.equal(ours["source_embedding.table.weight"], theirs["output"])  # one matrix there, of that name
    assert bundle.tokenizers.source.encode("a b c") == start.tokenizers.source.encode("a b c")


@pytest.mark.parametrize(
    ("way", "said_of_it"),
    [
        (
            {"bidirectional": True},
            "loaded from it: source_embedding, forwards, backwards; fresh: ending, output, bias, features, head",
        ),
        (
            {"bidirectional": False, "features": "last"},
            "loaded from it: source_embedding, forwards; fresh: ending, output, bias, head",
        ),
    ],
    ids=["elmo", "ulmfit"],
)
def test_a_recurrent_language_model_reads_for_a_classifier(
    tmp_path: Path, labelled: dict[str, Any], way: dict[str, object], said_of_it: str
) -> None:
    """ELMo's way and ULMFiT's: texts are predicted, then labels are told upon what was learnt."""
    texts: dict[str, Any] = {
        "data": {**labelled["data"], "side": "source"},
        "text": {"vocabulary_size": 300},
        "model": {"kind": "recurrent-lm", "width": 8, "dropout": 0.0, **way},
        "training": TRAINING,
    }
    train_bundle(resolve_run(Layer(texts)), tmp_path / "first", lambda _: None)
    assert not replay_golden(load_bundle(tmp_path / "first"))
    labelled["model"] = {"kind": "recurrent-lm", "task": "classify", **way}
    # one checkpoint, after all groups have learnt
    labelled["training"] |= {"layer_groups": ["output bias ending head", "forwards.layers.1"], "unfreeze_every": 2}
    labelled["training"] |= {"validate_every": TRAINING["steps"]}
    tuning: dict[str, object] = {"frozen": ["source_embedding", "forwards.layers.0"]}
    said = tuned(tmp_path / "first", tmp_path / "second", **labelled, fine_tuning=tuning)
    assert said_of_it in said
    theirs, ours = weights_of(tmp_path / "first/bundle"), weights_of(tmp_path / "second/bundle")
    weights = (ours.keys() & theirs.keys()) - {"begins"}  # which is a fact of the vocabulary
    same = {name for name in weights if torch.equal(ours[name], theirs[name])}
    assert same == {name for name in ours if name.startswith(("source_embedding", "forwards.layers.0"))}
    outcomes = verify(tmp_path / "second/bundle")
    assert [(one.name, one.reason) for one in outcomes if one.status is Status.FAILED] == []


def test_adapters_and_a_fresh_head_learn_together(
    bundle_folder: Path, tmp_path: Path, labelled: dict[str, Any]
) -> None:
    tuned(bundle_folder, tmp_path / "whole", **labelled, fine_tuning=ADAPTERS)
    tuned(bundle_folder, tmp_path / "torn", (Leave(4),), **labelled, fine_tuning=ADAPTERS)
    tuned(bundle_folder, tmp_path / "torn", **labelled, fine_tuning=ADAPTERS)
    theirs, ours = weights_of(bundle_folder), weights_of(tmp_path / "whole/bundle")
    again = weights_of(tmp_path / "torn/bundle")
    assert all(torch.equal(ours[name], again[name]) for name in ours)
    both = (ours.keys() & theirs.keys()) - {"output"}
    changed = {name for name in both if not torch.equal(ours[name], theirs[name])}
    assert changed == {f"encoder.layers.0.self_attention.{part}.weight" for part in ("query", "value")}
    assert ours["bias"].any()


def test_another_task_of_the_same_kind(bundle_folder: Path, tmp_path: Path, labelled: dict[str, Any]) -> None:
    tuned(bundle_folder, tmp_path / "first", **labelled)
    words = [line.split() for line in (tmp_path / "texts").read_text("utf-8").splitlines()]
    (tmp_path / "labels").write_text("".join(" ".join("O" for _ in line) + "\n" for line in words), encoding="utf-8")
    labelled["model"] = {"task": "tag"}
    said = tuned(tmp_path / "first", tmp_path / "second", **labelled)
    assert [line for line in said if line.startswith("loaded from it")] == [
        "loaded from it: source_embedding, encoder; fresh: output, bias"
    ]
    begins = model_weights(load_bundle(tmp_path / "second").model)["begins"]
    assert not begins.all()  # a fact of the vocabulary, and not the classifier's


def test_a_target_that_is_another_is_never_taken_for_the_bundles(tiny_bundle: Bundle) -> None:
    """Not even where its table has as many rows."""
    source = tiny_bundle.tokenizers.source
    size = source.vocabulary_size + 1
    one, other = source.extended(["zebra zebra"] * 5, size), source.extended(["zabra zabra"] * 5, size)
    size = one.vocabulary_size
    assert other.vocabulary_size == size > source.vocabulary_size and one.fingerprint != other.fingerprint
    settings = tiny_bundle.settings.model.model_copy(update={"tying": "target"})
    before = TokenizerPair(source, one)
    weights = model_weights(build_model(settings, source.vocabulary_size, size))
    bundle = Pretrained(Path(), settings, before)
    kept = bundle.matching_weights(weights, settings, TokenizerPair(source, one))
    left = bundle.matching_weights(weights, settings, TokenizerPair(source, other))
    assert kept.keys() == weights.keys() and kept.keys() - left.keys() == {"output"}
    grown = bundle.matching_weights(weights, settings, TokenizerPair(one, other))
    assert grown["source_embedding.table.weight"] is weights["source_embedding.table.weight"]


def test_running_statistics_go_with_their_norms(tiny_bundle: Bundle) -> None:
    settings = tiny_bundle.settings.model.model_copy(update={"normalisation": "batch"})
    tokenizers = tiny_bundle.tokenizers
    size = tokenizers.source.vocabulary_size
    theirs, ours = (build_model(settings, size, size) for _ in range(2))
    for statistic in running_statistics(theirs).values():
        statistic.uniform_(0.5, 2.0)
    bundle = Pretrained(Path(), settings, tokenizers)
    load_matching(ours, bundle.matching_weights(model_weights(theirs), settings, tokenizers), "a bundle")
    found, expected = running_statistics(ours), running_statistics(theirs)
    assert found and all(torch.equal(found[name], statistic) for name, statistic in expected.items())


def test_sizes_that_are_given_count_and_nothing_fits(
    bundle_folder: Path, tmp_path: Path, labelled: dict[str, Any]
) -> None:
    labelled["model"] = {**labelled["model"], "width": 12, "heads": 3, "feedforward_width": 20}
    with pytest.raises(ConfigError, match="no weight of"):
        tuned(bundle_folder, tmp_path / "out", **labelled)


def test_the_same_kind_and_task_is_no_transfer(bundle_folder: Path) -> None:
    given = {"data": {"corpus": "reverse"}, "model": {"kind": "transformer", "width": 12, "heads": 2}}
    with pytest.raises(ConfigError, match="the bundle"):
        inherit(Layer({**given, "fine_tuning": {"from_bundle": str(bundle_folder)}}))
