"""Going on from a bundle: what is kept, what grows, what is frozen, and what is refused in a sentence."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from journeys.command import TINY, Finished, run_file, told
from openwork.base.config import Layer
from openwork.base.errors import ConfigError
from openwork.bundles.bundle import Bundle, load_bundle, write_bundle
from openwork.bundles.quantised import StoredType
from openwork.bundles.settings import BundleSettings
from openwork.checks.check import Status
from openwork.checks.verify import verify
from openwork.data.corpora.synthetic import reverse
from openwork.models.build import build_model
from openwork.models.recurrent_settings import RecurrentLMSettings, RecurrentSettings
from openwork.models.settings import DecoderSettings, EncoderSettings
from openwork.models.weights import model_weights, read_tensors, restore_weights
from openwork.runs.file.inheritance import inherit
from openwork.runs.file.resolve import resolve_layer, resolve_run
from openwork.runs.pruning.magnitude import with_largest
from openwork.runs.train import train_bundle
from openwork.runs.tuning import extended_pair, grown, new_rows
from openwork.text.forms import word_starts
from openwork.text.pair import TokenizerPair, train_pair
from openwork.text.settings import TextSettings
from openwork.text.tokenizer import SMALLEST_VOCABULARY
from openwork.training.loop import Observer
from runs.stopped import Leave

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
NEW_WORDS = ["zebra zebras", "zebra crossing zebra", "crossing zebras crossing"]
TRAINING = {
    "schedule": "constant", "learning_rate": 0.01, "warmup": 1, "steps": 6, "validate_every": 3, "average": 1,
    "validation_sentences": 2, "metric": "loss", "precision": "float32",
}  # fmt: skip


def layer(bundle: Path, **sections: dict[str, object]) -> Layer:
    """A run file that goes on from the bundle with backward sentences."""
    mapping = {
        "data": {"corpus": "reverse", "count": 60},
        "batches": {"tokens": 128},
        "training": TRAINING,
        **sections,
        "fine_tuning": {"from_bundle": str(bundle), **sections.get("fine_tuning", {})},
    }
    return Layer(mapping)


def tuned(bundle: Path, out: Path, watchers: tuple[Observer, ...] = (), **sections: dict[str, object]) -> list[str]:
    """Trains and says what was said."""
    said: list[str] = []
    train_bundle(resolve_run(inherit(layer(bundle, **sections))), out, said.append, watchers)
    return said


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return read_tensors(folder / "weights.safetensors")


@pytest.fixture
def recurrent_folder(tmp_path: Path) -> Path:
    """Two vocabularies and no shared matrix: everything that the other bundle has not."""
    pairs = list(reverse("train", 100))
    settings = TextSettings(vocabulary_size=300, shared=False)
    tokenizers = train_pair([p.source for p in pairs], [p.target for p in pairs], settings)
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    model_settings = RecurrentSettings(width=8, tying="none")
    with torch.random.fork_rng():
        model = build_model(model_settings, *sizes).eval()
    write_bundle(tmp_path / "recurrent", Bundle(BundleSettings(model=model_settings), tokenizers, model, card="#\n"))
    return tmp_path / "recurrent"


# ------------------------------------------------------------------------------------------------- weights and pieces


def test_new_rows_are_the_means_of_what_their_text_was_before(tiny_bundle: Bundle):
    before = tiny_bundle.tokenizers.source
    now = before.extended(NEW_WORDS, before.vocabulary_size + 8)
    table = torch.randn(before.vocabulary_size, 4)
    rows = new_rows(table, before, now)
    assert rows.shape == (now.vocabulary_size - before.vocabulary_size, 4)
    for row, number in zip(rows, range(before.vocabulary_size, now.vocabulary_size), strict=True):
        ids = before.encode(now.decode([number]))
        assert ids and max(ids) < before.vocabulary_size
        torch.testing.assert_close(row, table[ids].mean(dim=0))
    torch.testing.assert_close(new_rows(table[:, 0], before, now), rows[:, 0])  # a bias grows likewise


def test_a_bias_of_the_output_grows_with_its_vocabulary(tiny_bundle: Bundle):
    before = tiny_bundle.tokenizers
    now = extended_pair(before, NEW_WORDS, NEW_WORDS, 10)
    settings = tiny_bundle.settings.model.model_copy(update={"output_bias": True})
    old, new = (build_model(settings, one.source.vocabulary_size, one.target.vocabulary_size) for one in (before, now))
    found = grown(model_weights(old), new, before, now)
    assert {name: tensor.shape for name, tensor in found.items()} == {
        name: tensor.shape for name, tensor in model_weights(new).items()
    }


def test_an_embedding_of_the_tasks_own_grows_with_the_sources_vocabulary(recurrent_folder: Path):
    before = load_bundle(recurrent_folder).tokenizers
    now = extended_pair(before, NEW_WORDS, (), 5)
    settings = RecurrentLMSettings(task="classify", width=8, task_layers=1)
    old, new = (build_model(settings, one.source.vocabulary_size, 6) for one in (before, now))
    found = grown(model_weights(old), new, before, now)
    name = "reader.source_embedding.weight"
    expected = new_rows(model_weights(old)[name], before.source, now.source)
    assert len(expected) and torch.equal(found[name][before.source.vocabulary_size :], expected)


def test_a_language_model_may_learn_to_mark_its_prompts(tmp_path: Path):
    """It is the same model otherwise, and the bundle keeps what it has learnt."""
    text: dict[str, object] = {"data": {"corpus": "reverse", "count": 60, "side": "source"}}
    model: dict[str, object] = {"kind": "decoder", "width": 16, "heads": 2, "feedforward_width": 16, "layers": 1}
    first = Layer({**text, "text": {"vocabulary_size": 300}, "model": model, "training": TRAINING})
    train_bundle(resolve_run(first), tmp_path / "first", lambda _: None)
    tuned(tmp_path / "first", tmp_path / "second", model={"kind": "decoder", "separate_prompt": True})
    settings = load_bundle(tmp_path / "second").settings.model
    assert isinstance(settings, DecoderSettings)
    assert settings.separate_prompt and (settings.width, settings.layers) == (16, 1)
    outcomes = verify(tmp_path / "second/bundle")
    assert [(one.name, one.reason) for one in outcomes if one.status is Status.FAILED] == []


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_old_rows_are_kept_and_only_tables_grow(kind: str, bundle_folder: Path, recurrent_folder: Path):
    bundle = load_bundle(bundle_folder if kind == "transformer" else recurrent_folder)
    before = bundle.tokenizers
    now = extended_pair(before, NEW_WORDS, NEW_WORDS, 10)
    assert now.shared == before.shared and now.source.vocabulary_size > before.source.vocabulary_size
    torch.manual_seed(1)
    model = build_model(bundle.settings.model, now.source.vocabulary_size, now.target.vocabulary_size)
    old = model_weights(bundle.model)
    found = grown(old, model, before, now)
    assert {name: tensor.shape for name, tensor in found.items()} == {
        name: tensor.shape for name, tensor in model_weights(model).items()
    }
    assert all(torch.equal(found[name][: len(old[name])], old[name]) for name in old)
    larger = {name for name in old if found[name].shape != old[name].shape}
    tables = {"transformer": {"output"}, "recurrent": {"source_embedding.weight", "target_embedding.weight", "output"}}
    assert larger == tables[kind]


def test_no_new_pieces_give_the_same_tokenizers(tiny_bundle: Bundle):
    pair = tiny_bundle.tokenizers
    assert extended_pair(pair, NEW_WORDS, NEW_WORDS, 0) is pair


# ------------------------------------------------------------------------------------------------------ whole trainings


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_frozen_parts_stay_bit_for_bit_and_have_no_state(
    kind: str, bundle_folder: Path, recurrent_folder: Path, tmp_path: Path
):
    start = bundle_folder if kind == "transformer" else recurrent_folder
    said = tuned(start, tmp_path / "out", fine_tuning={"frozen": ["encoder"]}, training={**TRAINING, "ema": 0.9})
    before, after = weights_of(start), weights_of(tmp_path / "out" / "bundle")
    assert before.keys() == after.keys()
    for name in before:
        assert torch.equal(before[name], after[name]) == name.startswith("encoder."), name
    state = read_tensors(next((tmp_path / "out/checkpoints").iterdir()) / "optimiser.safetensors")
    assert state and not any(key.startswith("encoder.") for key in state)
    assert any(line.startswith("frozen: ") for line in said) and any("beginning with the weights" in s for s in said)


def test_nothing_frozen_trains_everything(bundle_folder: Path, tmp_path: Path):
    tuned(bundle_folder, tmp_path / "out")
    before, after = weights_of(bundle_folder), weights_of(tmp_path / "out" / "bundle")
    assert not any(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("kind", ["transformer", "recurrent"])
def test_a_vocabulary_that_grows(kind: str, bundle_folder: Path, recurrent_folder: Path, tmp_path: Path):
    start = bundle_folder if kind == "transformer" else recurrent_folder
    source, target = tmp_path / "new.src", tmp_path / "new.tgt"
    source.write_text("".join(f"{line} {n}\n" for n in range(20) for line in NEW_WORDS))
    target.write_text("".join(f"{n} {line}\n" for n in range(20) for line in NEW_WORDS))
    data = {"source": str(source), "target": str(target), "held_out": 6}
    tuned(start, tmp_path / "out", data=data, fine_tuning={"new_pieces": 12})
    before, after = TokenizerPair.load(start), load_bundle(tmp_path / "out").tokenizers
    for old, new in ((before.source, after.source), (before.target, after.target)):
        assert old.vocabulary_size < new.vocabulary_size <= old.vocabulary_size + 12
        assert [new.piece(n) for n in range(old.vocabulary_size)] == [old.piece(n) for n in range(old.vocabulary_size)]
        assert len(new.encode("zebra")) < len(old.encode("zebra"))
        assert new.decode(new.encode("zebra é日")) == "zebra é日"


@pytest.mark.parametrize("shared", [True, False])
def test_what_is_true_of_pieces_grows_with_them(shared: bool):
    """Which pieces begin a word: kept by models that label and predict, such as ULMFiT's, which gets new pieces."""
    before = train_pair(["a b c"] * 9, ["x y"] * 9, TextSettings(vocabulary_size=300, shared=shared))
    now = extended_pair(before, NEW_WORDS, NEW_WORDS, 10)
    settings = EncoderSettings(task="tag", width=8, heads=2, feedforward_width=8, layers=1)
    old, new = (build_model(settings, one.source.vocabulary_size, one.target.vocabulary_size) for one in (before, now))
    new.set_word_starts(torch.tensor(word_starts(now.source)))  # type: ignore[operator]
    expected = new.begins.clone()  # type: ignore[operator]
    assert expected.shape != old.begins.shape and 0 < int(expected.sum()) < len(expected)  # type: ignore[arg-type]
    restore_weights(new, grown(model_weights(old), new, before, now), "old")
    assert torch.equal(new.begins, expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_resumed_is_as_undisturbed(precision: str, bundle_folder: Path, tmp_path: Path):
    sections: dict[str, dict[str, object]] = {
        "fine_tuning": {"frozen": ["decoder"], "new_pieces": 5},
        "training": {**TRAINING, "ema": 0.5, "optimiser": "adafactor", "precision": precision},
    }
    whole = tuned(bundle_folder, tmp_path / "whole", **sections)
    tuned(bundle_folder, tmp_path / "torn", (Leave(4),), **sections)
    said = tuned(bundle_folder, tmp_path / "torn", **sections)
    assert any("continuing after update 4" in line for line in said)
    assert not any("beginning with" in line for line in said)
    ours, theirs = weights_of(tmp_path / "torn/bundle"), weights_of(tmp_path / "whole/bundle")
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [line for line in whole if line.startswith("candidate: moving average up to 6")]


@pytest.mark.parametrize("kind", ["bfloat16", "int8", "int4"])
def test_a_bundle_in_fewer_bits_is_a_beginning_too(kind: StoredType, bundle_folder: Path, tmp_path: Path):
    """Its training begins with what the numbers of its file stand for."""
    write_bundle(tmp_path / "small", load_bundle(bundle_folder), kind)
    still = {**TRAINING, "learning_rate": 1e-30}
    tuned(tmp_path / "small", tmp_path / "run", training=still)
    begun, trained = (model_weights(load_bundle(tmp_path / name).model) for name in ("small", "run"))
    for name, weight in begun.items():
        torch.testing.assert_close(trained[name], weight)


def test_zeros_that_stay_are_those_of_the_bundle_when_resumed_too(bundle_folder: Path, tmp_path: Path):
    bundle = load_bundle(bundle_folder)
    restore_weights(bundle.model, with_largest(model_weights(bundle.model), 0.4), "here")
    write_bundle(tmp_path / "sparse", bundle)
    sections = {"fine_tuning": {"keep_zeros": True}}
    said = tuned(tmp_path / "sparse", tmp_path / "whole", **sections)
    tuned(tmp_path / "sparse", tmp_path / "parts", (Leave(4),), **sections)
    tuned(tmp_path / "sparse", tmp_path / "parts", **sections)
    zeros = {name: weight == 0 for name, weight in model_weights(bundle.model).items() if weight.dim() >= 2}
    assert sum(int(mask.sum()) for mask in zeros.values()) > 1000 and any("zeros that stay" in line for line in said)
    whole, parts = (model_weights(load_bundle(tmp_path / name).model) for name in ("whole", "parts"))
    for name, weight in whole.items():
        assert torch.equal(weight, parts[name])
        assert name not in zeros or torch.equal(weight == 0, zeros[name])


def test_from_the_command_line_settings_are_chosen(call: Call, bundle_folder: Path, tmp_path: Path):
    small = ["data.count=60", "training.steps=4", "training.validate_every=4", "training.warmup=2"]
    small += ["training.validation_sentences=2", "model.dropout=0.25"]
    assignments = [word for assignment in small for word in ("--set", assignment)]
    result = call("train", "--from-bundle", bundle_folder, "--corpus", "reverse", "--out", tmp_path / "o", *assignments)
    assert result.code == 0, result.err
    assert "at a fifth of the rate of a training from nothing" in result.err
    run = (tmp_path / "o/run.toml").read_text()
    assert "width = 16" in run and "dropout = 0.25" in run and 'schedule = "linear"' in run
    assert "maximum_length = 12" in run  # the bundle's search
    vocabulary = json.loads((bundle_folder / "tokenizer.json").read_text())["model"]["vocab"]
    assert f"vocabulary_size = {max(len(vocabulary), SMALLEST_VOCABULARY)}" in run
    # what such a run wrote down is a run file that means the same
    again = call("train", tmp_path / "o/run.toml", "--out", tmp_path / "again", *assignments)
    assert again.code == 0, again.err


def test_automatic_rates_and_lengths_are_lower(bundle_folder: Path):
    """The corpus has 20,000 pairs, for which a training from nothing would have a peak of 0.002."""
    chosen = resolve_layer(
        layer(bundle_folder, training={}, data={"corpus": "copy"}), lambda text: None, choose_rest=True
    ).settings
    fresh = resolve_layer(Layer({"data": {"corpus": "copy"}}), lambda text: None, choose_rest=True).settings
    assert chosen.training.learning_rate == pytest.approx(fresh.training.learning_rate / 5)
    assert chosen.training.steps == max(300, fresh.training.steps // 5)
    assert chosen.training.warmup < chosen.training.steps


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"model": {"width": 32}}, "model.width is 32, but the bundle"),
        ({"model": {"preset": "tiny"}}, "model.width is 128, but the bundle"),
        ({"text": {"vocabulary_size": 5000}}, "text.vocabulary_size is 5000, but the bundle"),
        ({"text": {"shared": False}}, "text.shared is False, but the bundle"),
        ({"text": {"kind": "characters"}}, "text.kind is characters, but the bundle"),
        ({"text": {"source_file": "vocab.txt"}}, "text.source_file is vocab.txt, but the bundle"),
    ],
)
def test_other_sizes_are_refused(bundle_folder: Path, sections: dict[str, dict[str, object]], words: str):
    with pytest.raises(ConfigError) as refused:
        inherit(layer(bundle_folder, **sections))
    assert words in refused.value.what and refused.value.hint


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"fine_tuning": {"frozen": ["encodr"]}}, "'encodr' names no weight of this model"),
        ({"fine_tuning": {"frozen": ["*"]}}, "every weight is frozen"),
        ({"fine_tuning": {"frozen": ["target_embedding"], "new_pieces": 3}}, "the new pieces could not be learnt"),
        ({"training": {**TRAINING, "layer_groups": ["decodr"]}}, "'decodr' names no weight of this model"),
    ],
)
def test_parts_that_cannot_be_leave_nothing_behind(
    bundle_folder: Path, tmp_path: Path, sections: dict[str, dict[str, object]], words: str
):
    with pytest.raises(ConfigError) as refused:
        tuned(bundle_folder, tmp_path / "out", **sections)
    assert words in refused.value.what and refused.value.hint
    assert not (tmp_path / "out").exists()


def test_without_a_bundle_its_keys_are_refused(call: Call, tmp_path: Path):
    path = run_file(tmp_path, TINY + '\n[fine_tuning]\nfrozen = ["encoder"]\n')
    told(call("train", path, "--out", tmp_path / "o"), 3, "set from_bundle, or leave them out")
    assert not (tmp_path / "o").exists()


def test_bundles_that_are_none(call: Call, tmp_path: Path, bundle_folder: Path):
    def refused(bundle: Path) -> str:
        result = call("train", "--from-bundle", bundle, "--corpus", "copy", "--out", tmp_path / "o")
        assert not (tmp_path / "o").exists() or not (tmp_path / "o" / "checkpoints").exists()
        return told(result, 4)

    assert "no such folder" in refused(tmp_path / "none")
    assert "a folder without bundle.json" in refused(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    assert "a file without bundle.json" in refused(file)
    weights = bundle_folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    assert "weights.safetensors is damaged" in refused(bundle_folder)
