"""Trainings on sounds: from a table to texts on the command line and in Python, checks, refusals."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import openwork
from calling import Call
from openwork.base.errors import ConfigError, DataError, UsageError
from openwork.bundles.bundle import Bundle, load_bundle
from openwork.bundles.settings import BundleSettings
from openwork.checks.check import Status
from openwork.checks.keeping import EXPORTED
from openwork.checks.verify import verify
from openwork.data.readers.file_lists import SOUNDS
from openwork.data.store import TokenStore
from openwork.evaluation.evaluate import EvaluationSet, evaluate_bundle
from openwork.inference.explain import explain
from openwork.inference.scorer import Scorer
from openwork.inference.transcriber import check_reads_sounds
from openwork.inference.translator import BatchTranslator
from openwork.inspection.trace import Selection
from openwork.models.settings import TransformerSettings
from openwork.runs.check_resume import check_resume
from openwork.runs.file.resolve import resolve
from openwork.signals.settings import SoundSettings

soundfile = pytest.importorskip("soundfile", reason="needs the extra audio")
pytest.importorskip("soxr", reason="needs the extra audio")

pytestmark = pytest.mark.slow

RUN = """
[sound]
rate = 8000
mels = 20
seconds = 1
padded = false
[text]
kind = "characters"
[batches]
tokens = 400
[model]
preset = "whisper-small"
maximum_length = 12
width = 16
heads = 2
feedforward_width = 16
encoder_layers = 1
decoder_layers = 1
dropout = 0.0
[training]
schedule = "constant"
learning_rate = 0.01
warmup = 5
steps = 150
validate_every = 50
validation_sentences = 8
label_smoothing = 0.0
precision = "float32"
metric = "exact"
"""
TONES = {"low": 300.0, "high": 2500.0}


def sound(kind: str, number: int, rate: int = 8000) -> np.ndarray:
    """One tone after the other, with noise."""
    generator = np.random.default_rng(number)
    time = np.arange(int(rate * generator.uniform(0.12, 0.2))) / rate
    tones = [0.4 * np.sin(2 * np.pi * TONES[word] * time) for word in kind.split()]
    samples = np.concatenate(tones)
    return (samples + 0.02 * generator.standard_normal(len(samples))).astype(np.float32)


def write_sounds(folder: Path, count: int, first: int = 0) -> Path:
    """A table of sounds of one and of two words."""
    folder.mkdir()
    with (folder / "list.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "text"])
        for number in range(first, first + count):
            for kind in ("low", "high", "low high", "high low"):
                name = f"{kind.replace(' ', '-')}-{number}.wav"
                soundfile.write(folder / name, sound(kind, number), 8000)
                rows.writerow([name, kind])
    return folder / "list.csv"


def given(folder: Path) -> dict[str, Any]:
    return {"data.sounds": str(folder / "train/list.csv"), "data.valid_sounds": str(folder / "valid/list.csv")}


def section(folder: Path) -> dict[str, str]:
    return {key.removeprefix("data."): value for key, value in given(folder).items()}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with train and valid, the run file, and the run that was trained on them."""
    folder = tmp_path_factory.mktemp("sounds")
    write_sounds(folder / "train", 10)
    write_sounds(folder / "valid", 2, first=100)
    (folder / "run.toml").write_text(RUN)
    openwork.train(folder / "run.toml", out=folder / "run", set=given(folder), progress=False)
    yield folder


def test_sounds_are_learnt(trained: Path) -> None:
    bundle = load_bundle(trained / "run")
    kinds = ["low", "high", "low high", "high low"]
    paths = [str(trained / "valid" / f"{kind.replace(' ', '-')}-100.wav") for kind in kinds]
    translator = BatchTranslator.of(bundle)
    assert translator.best(paths) == kinds
    assert translator.best([sound("high low", 7)]) == ["high low"]
    beam = bundle.settings.decoding.model_copy(update={"beam": 4})
    assert bundle.settings.decoding.beam == 1 and BatchTranslator.of(bundle, beam).best(paths) == kinds


def test_a_bundle_of_sounds_passes_its_checks(trained: Path) -> None:
    results = {one.name: one for one in verify(trained / "run", further=EXPORTED)}
    assert [(one.name, str(one.reason)) for one in results.values() if one.status is Status.FAILED] == []
    passed = {name for name, one in results.items() if one.status is Status.PASSED}
    assert passed >= {
        "files", "finite", "future", "cached", "branches", "batch", "padding", "kernels", "scores", "beam",
        "written-again",
    }  # fmt: skip


def test_the_bundle_keeps_how_a_sound_is_prepared(trained: Path) -> None:
    bundle = load_bundle(trained / "run")
    assert bundle.settings.sound == SoundSettings(rate=8000, mels=20, seconds=1, padded=False)
    assert bundle.golden == () and json.loads((trained / "run/bundle/golden.json").read_text()) == []


def test_a_stopped_training_goes_on_as_if_nothing_had_happened(trained: Path) -> None:
    changes = ["training.steps=8", "sound.speeds=[0.8, 1.0]", "model.masked=0.3"]
    settings = resolve(trained / "run.toml", changes, {"data": section(trained)}, lambda line: None)
    found = check_resume(settings.settings, lambda line: None)
    assert found and all(one.difference == 0 for one in found)


def test_each_speed_is_a_version_of_the_training_sounds(trained: Path, tmp_path: Path) -> None:
    """The second half of the store holds the same sounds, twice as long; validation has them as they are."""
    changes = {"sound.speeds": [1.0, 0.5], "training.steps": 2, "training.validate_every": 2}
    openwork.train(trained / "run.toml", out=tmp_path / "run", set=given(trained) | changes, progress=False)
    train, valid = (TokenStore.open(tmp_path / "run/stores" / name) for name in ("train", "valid"))
    assert (len(train), len(valid)) == (80, 8)
    lengths = train.source.lengths
    assert abs(lengths[40:] - 2 * lengths[:40]).max() <= 1


def test_fine_tuning_keeps_the_vocabulary_and_begins_with_the_weights(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f'[fine_tuning]\nfrom_bundle = "{trained}/run"\n[data]\nsounds = "{trained}/valid/list.csv"\n'
        f'valid_sounds = "{trained}/valid/list.csv"\n[training]\nsteps = 2\nvalidate_every = 2\n'
        'learning_rate = 1e-6\nmetric = "exact"\n'
    )
    openwork.train(tmp_path / "run.toml", out=tmp_path / "run", progress=False)
    before, after = load_bundle(trained / "run"), load_bundle(tmp_path / "run")
    assert after.settings.sound == before.settings.sound
    assert after.tokenizers.fingerprint == before.tokenizers.fingerprint
    for name, weight in after.model.named_parameters():
        np.testing.assert_allclose(weight.detach(), before.model.get_parameter(name).detach(), atol=1e-4)


def test_a_damaged_sound_ends_the_training_with_its_name(trained: Path, tmp_path: Path) -> None:
    write_sounds(tmp_path / "train", 10)
    (tmp_path / "train" / "high-3.wav").write_bytes(b"nothing")
    sets = {**given(trained), "data.sounds": str(tmp_path / "train/list.csv")}
    with pytest.raises(DataError, match=r"high-3\.wav") as refused:
        openwork.train(trained / "run.toml", out=tmp_path / "run", set=sets, progress=False)
    assert refused.value.code == "D155"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[data]\nsounds = "a.csv"\n', "C156"),
        ('[data]\ncorpus = "dates"\n[model]\npreset = "vit-small"\n[sound]\nrate = 8000\n', "C157"),
        ('[data]\nsounds = "a.csv"\n[model]\nkind = "whisper"\nattention_pattern = "low-rank"\n'
         'positions = "learned"\n', "C158"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_refused(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        openwork.train(tmp_path / "run.toml", out=tmp_path / "run", progress=False)
    assert refused.value.code == code


def test_a_sound_is_transcribed_in_python(trained: Path) -> None:
    model = openwork.load(trained / "run")
    assert isinstance(model, openwork.Transcriber)
    path = trained / "valid" / "low-high-100.wav"
    assert model.transcribe(path).text == model.transcribe(str(path)).text == "low high"
    assert [str(one) for one in model.transcribe([path, sound("high", 9)])] == ["low high", "high"]
    assert len(model.transcribe(path, best=2, beam=3)) == 2
    (scored,) = Scorer(model.bundle.model, model.bundle.tokenizers).score([(str(path), "low high")])
    assert scored.total == pytest.approx(model.transcribe(path).log_probability, abs=1e-4)
    with pytest.raises(UsageError, match="are no text"):
        explain(model.bundle, str(path), Selection())
    for wrong in (3, [None], [b"a.wav"]):
        with pytest.raises(UsageError, match="a sound is a path or an array") as refused:
            model.transcribe(wrong)
        assert refused.value.code == "U114"


def test_a_line_for_each_file_on_the_command_line(call: Call, trained: Path) -> None:
    paths = [str(trained / "valid" / f"{name}-101.wav") for name in ("high-low", "low")]
    found = call("transcribe", str(trained / "run"), *paths)
    assert found.lines == ["high low", "low"]
    as_json = call("transcribe", str(trained / "run"), "--json", paths[1])
    assert json.loads(as_json.out)["transcripts"][0]["text"] == "low"
    assert json.loads(as_json.out)["transcripts"][0]["segments"][0]["start"] == 0.0
    assert call("transcribe", str(trained / "run"), "--format", "json", paths[1]).out == as_json.out
    subtitles = call("transcribe", str(trained / "run"), "--format", "srt", paths[1]).lines
    assert subtitles[0] == "1" and subtitles[1].startswith("00:00:00,000 --> 00:00:0") and subtitles[2] == "low"
    for options, code in ((["--format", "vtt", *paths], "U123"), (["--language", "de", paths[0]], "U122")):
        refused = call("transcribe", str(trained / "run"), *options)
        assert refused.code and f"error {code}" in refused.err and refused.lines == []
    refused = call("transcribe", str(trained / "run"), str(trained / "none.wav"))
    assert refused.code and "error D144" in refused.err and refused.lines == []


def test_other_models_transcribe_nothing() -> None:
    bundle = Bundle(BundleSettings(model=TransformerSettings()), None, None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="are no sounds") as refused:
        check_reads_sounds(bundle, Path("en-de"))
    assert refused.value.code == "U120" and "openwork translate" in refused.value.hint


def test_error_rates_of_a_bundle(trained: Path) -> None:
    pytest.importorskip("jiwer", reason="needs the extra audio")
    tested = EvaluationSet.of_files(trained / "valid/list.csv", SOUNDS)
    result, saved = evaluate_bundle(load_bundle(trained / "run"), tested, print, lambda count: None)
    assert [score.name for score in result.scores] == ["WER", "CER"]
    assert [score.value for score in result.scores] == [0.0, 0.0] and result.exact == 1.0
    assert saved.translations == saved.references
