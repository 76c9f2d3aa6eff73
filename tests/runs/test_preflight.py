"""What is found out before the first update: each refusal provoked, and nothing of the training changed."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import torch

from journeys.command import TINY, Finished, run_file, told, tree
from openwork.base.config import read_run_file
from openwork.base.errors import OpenworkError
from openwork.cost.cost import cost_of
from openwork.data.batching import assemble
from openwork.runs import train as training_module
from openwork.runs.assembly import TrainingSetup, prepare_training, resolve_computing
from openwork.runs.file.resolve import resolve_run
from openwork.runs.folder import RunFolder
from openwork.runs.preflight import resources, trials
from openwork.runs.preflight.check import preflight
from openwork.runs.preflight.report import clock, preflight_lines, preflight_warnings
from openwork.runs.preflight.resources import beyond_budget, demanding_batches
from openwork.runs.train import train_bundle
from openwork.training.checkpoint import OPTIMISER, WEIGHTS, checkpoints
from openwork.training.loop import LoopState
from openwork.training.observers.saving import CheckpointObserver, kept_at_once
from openwork.training.progress import Progress, Validation
from openwork.training.settings import TrainingSettings
from openwork.training.step import Updater

pytestmark = pytest.mark.slow

Call = Callable[..., Finished]
CPU = torch.device("cpu")


def make_setup(folder: Path, text: str = TINY, /, **changes: object) -> TrainingSetup:
    """A training that is prepared in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = resolve_computing(resolve_run(read_run_file(run_file(folder, text, **changes))), None, CPU)
    run = RunFolder(folder / "out")
    with run.locked(settings):
        pass
    return prepare_training(settings, run, CPU, lambda line: None)


@pytest.fixture(scope="module")
def setup(tmp_path_factory: pytest.TempPathFactory) -> TrainingSetup:
    """The tiny run; its preflight leaves it as it was."""
    return make_setup(tmp_path_factory.mktemp("setup"))


def changed(setup: TrainingSetup, **training: object) -> TrainingSetup:
    settings = setup.settings
    return replace(
        setup, settings=settings.model_copy(update={"training": settings.training.model_copy(update=training)})
    )


# ------------------------------------------------------------------------------------------------ nothing changes


@pytest.mark.parametrize("normalisation", ["layer", "batch"])
def test_the_run_is_the_same_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, normalisation: str):
    """Weights, optimiser, moving average and place of every checkpoint, bit for bit."""
    found: list[list[Any]] = []
    for name in ("with", "without"):
        if name == "without":
            monkeypatch.setattr(training_module, "look_ahead", lambda *_: None)
        text = TINY.replace("average = 2", "average = 2\nema = 0.9")
        text = text.replace("[model]", f'[model]\nnormalisation = "{normalisation}"')
        assert normalisation in text
        (tmp_path / name).mkdir()
        settings = resolve_run(read_run_file(run_file(tmp_path / name, text)))
        said: list[str] = []
        torch.manual_seed(3)
        train_bundle(settings, tmp_path / name / "out", said.append)
        assert any(line.startswith("fullest batch: ") for line in said) == (name == "with")
        files = tree(tmp_path / name / "out/checkpoints")
        places = [json.loads(data)["progress"] for path, data in sorted(files.items()) if path.endswith("state.json")]
        for place in places:
            del place["seconds"], place["processor_seconds"]
            for validation in place["validations"]:
                del validation["seconds"]
        weights = [data for path, data in sorted(files.items()) if path.endswith(".safetensors")]
        found.append([weights, places, tree(tmp_path / name / "out/bundle")["weights.safetensors"]])
    assert found[0] == found[1]


def test_nothing_is_left_in_the_run(setup: TrainingSetup):
    before = torch.get_rng_state()
    preflight(setup)
    assert torch.equal(torch.get_rng_state(), before)
    assert setup.optimiser.state == {} and setup.updater.divisions == 1
    assert checkpoints(setup.folder.checkpoints) == []


# ------------------------------------------------------------------------------------------------ the longest batch


def test_the_batch_that_keeps_most_is_tried(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    """Found from the lengths alone; by the other way, every batch is put together and asked."""
    size = setup.corpus.tokenizers.source.vocabulary_size

    def kept(rows: Any) -> float:
        batch = assemble(setup.corpus.train, rows)
        source, target = batch.source.shape[1], batch.target_output.shape[1]
        cost = cost_of(setup.settings.model, size, source_length=source, target_length=target)
        return cost.kept(len(rows) * target)

    batch, *others = demanding_batches(setup)
    assert kept(batch.rows) == max(kept(rows) for rows in setup.stream.epoch(0))
    assert batch.cost.kept(batch.target_tokens) == kept(batch.rows)
    longest = max(len(side) for row in range(len(setup.corpus.train)) for side in setup.corpus.train.pair(row)) + 1
    assert max(max(one.source, one.target) for one in (batch, *others)) == longest

    tried: list[int] = []
    update = Updater.update

    def watched(self: Updater, batches: Any, *rest: Any, **more: Any) -> Any:
        tried.append(sum(one.sentences for one in batches))
        return update(self, batches, *rest, **more)

    monkeypatch.setattr(Updater, "update", watched)
    preflight(setup)
    assert tried[: 1 + len(others)] == [one.sentences for one in (batch, *others)] and len(tried) > 1 + len(others)


def test_pairs_longer_than_a_batch_are_told(tmp_path: Path):
    setup = make_setup(tmp_path, tokens=6)
    longer = [max(*map(len, setup.corpus.train.pair(row))) + 1 > 6 for row in range(len(setup.corpus.train))]
    assert beyond_budget(setup) == sum(longer) > 0
    assert any(f"{sum(longer):,} pair(s) are longer" in line for line in preflight_warnings(preflight(setup)))


def want_memory(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Gradients of more than so many target tokens at a time find no memory."""
    plain = Updater._gradients

    def gradients(self: Updater, part: Any, *more: Any) -> Any:
        if part.target_tokens > most:
            raise MemoryError
        return plain(self, part, *more)

    monkeypatch.setattr(Updater, "_gradients", gradients)


def test_a_batch_that_does_not_fit_is_divided_from_the_first_update(call: Call, tmp_path: Path, monkeypatch: Any):
    want_memory(monkeypatch, 40)
    result = call("train", run_file(tmp_path, steps=4), "--out", tmp_path / "out")
    assert result.code == 0, result.err
    assert "they are computed in 4 parts" in result.err and "memory was not enough; from here on" not in result.err
    state = json.loads((checkpoints(tmp_path / "out/checkpoints")[-1] / "state.json").read_text())
    assert state["progress"]["divisions"] == 4


def test_one_sentence_that_does_not_fit_is_refused(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    want_memory(monkeypatch, 0)
    with pytest.raises(OpenworkError, match="not enough memory for an update, even sentence by sentence"):
        preflight(setup)
    assert setup.optimiser.state == {}
    setup.updater.divisions = 1


def test_an_optimiser_that_does_not_fit_is_refused(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    def step(*_: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("openwork.training.step.take_step", step)
    with pytest.raises(OpenworkError, match="what the optimiser keeps"):
        preflight(setup)


@pytest.mark.parametrize("part", ["loss", "translator.translate"])
def test_a_validation_that_does_not_fit_is_refused(setup: TrainingSetup, part: str, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("CUDA out of memory")

    owner = setup.validator.translator if "." in part else setup.validator
    monkeypatch.setattr(owner, part.rpartition(".")[2], fail)
    with pytest.raises(OpenworkError, match="longest validation sentences") as caught:
        preflight(setup)
    longest = max(len(side) for row in range(len(setup.corpus.valid)) for side in setup.corpus.valid.pair(row))
    assert f"{longest} pieces" in caught.value.why


def test_our_own_mistakes_are_not_called_memory(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(setup.validator, "loss", fail)
    with pytest.raises(RuntimeError, match="shapes do not fit"):
        preflight(setup)


def test_only_the_longest_are_translated(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    """All validation sentences are given and the first batch, of the longest, is all that is searched."""
    translator, searched = setup.validator.translator, []
    plain = type(translator)._search

    def search(self: Any, model: Any, settings: Any, present: Any, sources: Any, **more: Any) -> Any:
        searched.append([len(source.ids) for source in sources])
        return plain(self, model, settings, present, sources, **more)

    monkeypatch.setattr(type(translator), "_search", search)
    monkeypatch.setattr(translator, "least_tokens", 1)
    found = preflight(setup)
    lengths = sorted(setup.corpus.valid.source.lengths[:5].tolist(), reverse=True)
    assert searched[0] == lengths[: found.validation.sentences] and found.validation.sentences < 5
    assert found.validation.seconds > 0


# ------------------------------------------------------------------------------------------------ memory


def free(monkeypatch: pytest.MonkeyPatch, count: float | None) -> None:
    monkeypatch.setattr(resources, "free_memory", lambda: count)


def test_a_model_too_large_for_the_machine_is_refused(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    free(monkeypatch, 1000)
    result = call("train", run_file(tmp_path), "--out", tmp_path / "out")
    told(result, 1, "does not fit into the memory", "and 1 kB are free", "smaller model")
    assert not (tmp_path / "out/checkpoints").exists()


def test_little_memory_is_warned_of_and_less_divides(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    free(monkeypatch, 1e18)
    needed = preflight(setup).memory.needed
    said: dict[float, tuple[int, bool]] = {}
    for share in (1.3, 1.2, 0.99):
        free(monkeypatch, share * needed)
        found = preflight(setup)
        said[share] = found.updates.divisions, any("little memory" in line for line in preflight_warnings(found))
    assert said == {1.3: (1, False), 1.2: (1, True), 0.99: (2, False)}
    assert any("computed in 2 parts" in line for line in preflight_lines(found))
    assert found.memory.needed < 0.99 * needed
    setup.updater.divisions = 1


def test_moments_and_parts_count(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    """Adam keeps two numbers a weight, and a moving average that is there already is not asked for again."""
    free(monkeypatch, 1e18)
    weights = sum(parameter.numel() for parameter in setup.model.parameters())
    batch = demanding_batches(setup)[0]
    adam = resources.estimate_memory(setup, batch).needed
    assert adam - resources.estimate_memory(changed(setup, optimiser="adafactor"), batch).needed == 8 * weights
    assert adam > (1 + 2) * 4 * weights


# ------------------------------------------------------------------------------------------------ disk


def room(monkeypatch: pytest.MonkeyPatch, count: float) -> None:
    monkeypatch.setattr(resources, "free_disk", lambda place: count)


def test_a_disk_too_small_is_refused_with_numbers(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    room(monkeypatch, 2000)
    result = call("train", run_file(tmp_path), "--out", tmp_path / "out")
    told(result, 1, "out: the disk has too little room", "and 2 kB are free", "lower training.average")
    # what is advised can be done: nothing is trained yet, so the settings may still change
    room(monkeypatch, 1e9)
    again = call("train", run_file(tmp_path, average=1), "--out", tmp_path / "out")
    assert again.code == 0 and "average = 1\n" in (tmp_path / "out/run.toml").read_text()


def test_the_size_of_a_checkpoint_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Within what the files' own headers take; and between least and most it is a warning."""
    setup = make_setup(tmp_path, TINY.replace("average = 2", "average = 2\nema = 0.9"))
    found = preflight(setup).disk
    train_bundle(setup.settings, setup.folder.path, lambda line: None)
    newest = tree(checkpoints(setup.folder.checkpoints)[-1])
    written = sum(len(data) for name, data in newest.items() if name.endswith(".safetensors"))
    assert {WEIGHTS, OPTIMISER} <= newest.keys()
    assert 0 <= written - found.checkpoint < 20_000
    assert found.least_needed == found.most_needed == round(1.1 * (3 * found.checkpoint + found.bundle))
    long = changed(setup, steps=400)
    room(monkeypatch, 1e12)
    estimate = preflight(long).disk
    assert estimate.most == 5 and estimate.most_needed <= estimate.free
    room(monkeypatch, (estimate.least_needed + estimate.most_needed) / 2)
    assert any("the disk may become full" in line for line in preflight_warnings(preflight(long)))
    room(monkeypatch, estimate.least_needed - 1)
    with pytest.raises(OpenworkError, match="too little room"):
        preflight(long)


@pytest.mark.parametrize("average", [1, 2, 3])
def test_how_many_checkpoints_stand_side_by_side(average: int, tmp_path: Path, setup: TrainingSetup):
    """The observer itself, on figures that rise and on figures whose best is far back."""
    settings = TrainingSettings(steps=45, validate_every=4, average=average, metric="loss", patience=99)
    least, most = kept_at_once(settings)
    counted: dict[str, int] = {}
    losses = {"better and better": [20.0 - number for number in range(12)], "the best far back": [9.0] * 12}
    losses["the best far back"][5] = 1.0
    losses["any"] = random.Random(average).sample(losses["better and better"], 12)
    for name, figures in losses.items():
        folder = tmp_path / name
        observer = CheckpointObserver(folder, setup.model, setup.optimiser)
        run = LoopState(settings, Progress(), [observer])
        before = 0
        counted[name] = 0
        for number, loss in enumerate(figures, start=1):
            run.progress.step = min(4 * number, settings.steps)
            run.progress.validations.append(Validation(run.progress.step, loss, 1.0))
            observer.validated(run, run.progress.validations[-1])
            counted[name] = max(counted[name], before + 1)  # the new one is there before another goes
            before = len(checkpoints(folder))
    assert counted["better and better"] == least
    assert counted["the best far back"] == most
    assert least <= counted["any"] <= most


def test_a_resumed_run_wants_room_for_one_more(tmp_path: Path, setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    there = replace(setup, folder=RunFolder(tmp_path))
    for step in (4, 8):
        (tmp_path / f"checkpoints/step-{step:08d}").mkdir(parents=True)
    room(monkeypatch, 1e9)
    estimate = resources.estimate_disk(there)
    assert estimate.most == 3
    room(monkeypatch, estimate.least_needed - 1)
    with pytest.raises(OpenworkError, match="too little room"):
        resources.estimate_disk(there)


# ------------------------------------------------------------------------------------------------ time


@pytest.mark.parametrize(
    ("seconds", "said"), [(3120, "14:05"), (0, "13:13"), (38_819, "23:59"), (38_820, "2026-11-23 00:00")]
)
def test_the_clock(seconds: float, said: str):
    assert clock(seconds, datetime(2026, 11, 22, 13, 13, 0)) == said


def test_the_time_is_that_of_updates_and_validations(setup: TrainingSetup):
    found = preflight(setup)
    found = replace(found, started=datetime(2026, 11, 22, 13, 13), finish=replace(found.finish, seconds=3121.0))
    line = next(line for line in preflight_lines(found) if line.startswith("time: "))
    passes = 12 / len(setup.stream.epoch(0))
    assert line == (
        f"time: about 52 minutes, until 14:05, for 12 updates ({passes:.3g} passes over the pairs) and 6 validations"
    )
    again = preflight(setup)
    assert again.finish.seconds == pytest.approx(12 * again.updates.usual + 6 * again.validation.seconds)


def test_of_many_accumulated_batches_a_few_are_timed(setup: TrainingSetup, monkeypatch: pytest.MonkeyPatch):
    """An update of a thousand takes a thousand times as long as one of them, and is not waited for."""
    sizes: list[int] = []

    def timed(updater: Any, batches: list[Any]) -> float:
        sizes.append(len(batches))
        return 2.0 * len(batches)

    monkeypatch.setattr(trials, "timed_trial", timed)
    monkeypatch.setattr(trials.time, "perf_counter", lambda: 0.0)
    assert trials._usual(changed(setup, accumulate=3)) == 6.0
    assert trials._usual(changed(setup, accumulate=1000)) == 2000.0
    assert set(sizes) == {3, trials.MOST_BATCHES}


# ------------------------------------------------------------------------------------------------ vocabulary and search


def text_run(folder: Path, valid: str, kind: str = "byte-pair", more: str = "") -> Path:
    """A run file on pairs of known letters, validated with `valid`."""
    lines = [f"cat {letter} dog" for letter in "abcdefgh"] * 12
    (folder / "train").write_text("".join(f"{line}\n" for line in lines))
    (folder / "valid").write_text(f"{valid}\n" * 3)
    (folder / "valid.target").write_text("cat a dog\n" * 3)
    data = "\n".join(
        f'{key} = "{folder}/{name}"'
        for key, name in (("source", "train"), ("target", "train"), ("valid_source", "valid"))
    )
    text = TINY.replace('corpus = "copy"\ncount = 120', f'{data}\nvalid_target = "{folder}/valid.target"')
    return run_file(folder, text.replace("[text]", f'[text]\nkind = "{kind}"') + more)


def test_characters_without_a_piece_are_named(call: Call, tmp_path: Path):
    result = call("train", text_run(tmp_path, "cat 猫 dog 追"), "--preflight")
    assert result.code == 0, result.err
    warned = [line for line in result.lines if line.startswith("warning: ") and "of the pieces are" in line]
    assert len(warned) == 1 and "sources of the validation pairs" in warned[0]
    assert "are bytes of characters that the vocabulary lacks: 猫 追" in warned[0]
    assert "pieces for what the vocabulary lacks: 0.00% of the sources, 0.00% of the targets" in result.out.decode()


def test_words_that_are_lost_and_texts_that_cannot_be_asked_for(call: Call, tmp_path: Path):
    run = text_run(tmp_path, "cat bird dog", "words", '\nrequired = ["snow"]\n')
    result = call("train", run, "--preflight")
    assert result.code == 0, result.err
    said = result.out.decode()
    assert "33.3% of the pieces are unknown to the vocabulary, and lost: bird" in said
    assert "the search of [decoding] gives no translation: the vocabulary cannot write" in said


# ------------------------------------------------------------------------------------------------ the command line


def test_alone_it_trains_nothing(call: Call, tmp_path: Path):
    run = run_file(tmp_path, TINY.replace("[model]", '[model]\npositions = "alibi"'), warmup=12)
    before = tree(tmp_path)
    result = call("train", run, "--preflight", "--out", tmp_path / "out")
    assert result.code == 0, result.err
    starts = [line.partition(":")[0] for line in result.lines]
    assert [start for start in starts if start != "longest batch"][:5] == [
        "fullest batch", "validation", "memory", "time", "disk",
    ]  # fmt: skip
    closed = [line for line in result.lines if line.startswith("these settings close openwork export to ")]
    assert [line.split(": ")[0].rpartition(" to ")[2] for line in closed] == ["CTranslate2", "Hugging Face"]
    assert "warning: training.warmup (12) is no shorter than the run" in result.err
    assert {name: data for name, data in tree(tmp_path).items() if not name.startswith(".")} == before


def test_as_values(call: Call, tmp_path: Path):
    result = call("train", run_file(tmp_path), "--preflight", "--json")
    values = json.loads(result.out)
    assert values["updates"] == 12 and values["disk"]["checkpoint"] > values["disk"]["bundle"] > 0
    assert values["seconds"]["run"] > 0 and values["warnings"] == [] and values["closed_exports"] == {}
    assert [one["share"] for one in values["unknown"]] == [0.0] * 4


def test_in_chinese(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENWORK_LANG", "zh")
    result = call("train", run_file(tmp_path), "--preflight")
    assert [line for line in result.lines if line.isascii()] == []
    assert "最大的批次: " in result.lines[0] and "秒" in result.lines[0]


def test_one_answer_at_a_time(call: Call, tmp_path: Path):
    told(call("train", run_file(tmp_path), "--preflight", "--plan"), 2, "different answers")
